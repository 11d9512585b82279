// The model, for the folders that turn it into something else.
#pragma once

#include "model/agent_message.h"
#include "model/event.h"
#include "model/job.h"
#include "model/request.h"
#include "model/view.h"
#include "precompiled/standard.h"
