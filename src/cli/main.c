/* cli/main.c - the entry of the program. */
#include "cli/command.h"

int main(int argc, char **argv)
{
	return fl_cli_main(argc, argv);
}
