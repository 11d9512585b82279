// Opens the three descriptors that every program counts on.
#pragma once

namespace muster {

/// Opens /dev/null as each of 0, 1 and 2 that is closed: the next socket or file would get its
/// number, and be read as standard input or written to by messages. Ends the process where that
/// cannot be done. Call it first, before anything is opened.
void open_standard_streams();

}  // namespace muster
