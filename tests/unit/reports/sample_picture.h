// Pictures of the two stream configurations, with the steps that the builders make.
#pragma once

#include "harness/store/record.h"

namespace moediff {

/// One stream, routed first, in place: combine clobbers what shared_gemm1 reads.
Picture one_stream_picture();
/// The shared experts on a stream of their own; `joined`: main waits for them. Without it scale_add is the victim.
Picture two_stream_picture(bool joined);

}  // namespace moediff
