// Unpacks archives as they come, by tar.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::cli {

/// Unpacks one archive into one folder.
class Unpacker {
 public:
  Unpacker() = default;
  ~Unpacker() { finish(); }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  /// Starts tar. Requires: SIGPIPE is ignored; the folder is there.
  Status start(const std::string& folder, bool is_compressed);
  Status write(std::string_view bytes);
  /// Ends tar. True: all of it was unpacked.
  bool finish();

 private:
  int in_ = -1;
  pid_t pid_ = -1;
};

/// Makes a folder that is to be filled. Errors: kAlreadyExists: it is there and not empty, and
/// files of two things must not mix.
Status make_empty_folder(const std::string& folder);

}  // namespace muster::cli
