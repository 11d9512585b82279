// What model.h has, with the connection to the controller: for commands, agents and supervisors.
// Each waits for others most of its time.
#pragma once

#include "precompiled/model.h"
#include "wire/controller_client.h"
