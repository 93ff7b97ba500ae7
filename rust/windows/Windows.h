/* usearch includes this name. The headers of mingw have it in small letters, which is another file on Linux. */
#include <windows.h>
