/*
 * sim/switch_aarch64.S - context switch for arm64 (AAPCS64): x19..x30, d8..d15 and the stack pointer.
 *
 * Ends with br instead of ret, so that the return predictor is not fed the address of another stack.
 */
#if defined(__aarch64__) && !defined(FL_SIM_UCONTEXT)
	.text
	.globl	fl_context_switch
	.type	fl_context_switch, %function
	.p2align 4
fl_context_switch:
	.cfi_startproc
	sub	sp, sp, #160
	.cfi_adjust_cfa_offset 160
	stp	x19, x20, [sp, #0]
	stp	x21, x22, [sp, #16]
	stp	x23, x24, [sp, #32]
	stp	x25, x26, [sp, #48]
	stp	x27, x28, [sp, #64]
	stp	x29, x30, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	.cfi_rel_offset x19, 0
	.cfi_rel_offset x20, 8
	.cfi_rel_offset x21, 16
	.cfi_rel_offset x22, 24
	.cfi_rel_offset x23, 32
	.cfi_rel_offset x24, 40
	.cfi_rel_offset x25, 48
	.cfi_rel_offset x26, 56
	.cfi_rel_offset x27, 64
	.cfi_rel_offset x28, 72
	.cfi_rel_offset x29, 80
	.cfi_rel_offset x30, 88
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	ldp	x19, x20, [sp, #0]
	ldp	x21, x22, [sp, #16]
	ldp	x23, x24, [sp, #32]
	ldp	x25, x26, [sp, #48]
	ldp	x27, x28, [sp, #64]
	ldp	x29, x30, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	add	sp, sp, #160
	.cfi_adjust_cfa_offset -160
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x21
	.cfi_restore x22
	.cfi_restore x23
	.cfi_restore x24
	.cfi_restore x25
	.cfi_restore x26
	.cfi_restore x27
	.cfi_restore x28
	.cfi_restore x29
	.cfi_restore x30
	mov	x16, x30
	br	x16
	.cfi_endproc
	.size	fl_context_switch, . - fl_context_switch

	.globl	fl_context_start
	.type	fl_context_start, %function
	.p2align 4
fl_context_start:
	.cfi_startproc
	.cfi_undefined x30
	bl	fl_stack_main
	brk	#1
	.cfi_endproc
	.size	fl_context_start, . - fl_context_start
#endif
	.section .note.GNU-stack, "", %progbits
