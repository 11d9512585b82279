// What tests of the journal stand on: a disk that fails (env/faulty_disk.h).
#pragma once

#include "env/faulty_disk.h"
