/*
 * report/font.h - a small bitmap font, 5 by 7 dots, for the words in pictures.
 */
#ifndef FL_REPORT_FONT_H
#define FL_REPORT_FONT_H

#include <stdint.h>

#define FL_FONT_WIDTH 5
#define FL_FONT_HEIGHT 7

/* Seven rows from the top; bit 4 is the leftmost dot. Small letters are drawn as capitals, unknown signs as a box. */
const uint8_t *fl_font_glyph(char c);

#endif
