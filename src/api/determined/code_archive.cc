// Code of an experiment as it comes from Determined's client, a list of files in base64, made into
// a tar file as our own client sends it. libarchive's types stay in this file.

#include "api/determined/code_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

#include "api/http/fields.h"
#include "text/base64.h"
#include "trials/trial_text.h"

namespace muster::api {
namespace {

constexpr std::int64_t kFolderType = '5';
constexpr std::int64_t kFileType = '0';
constexpr std::int64_t kLinkType = '2';

struct Freer {
  void operator()(::archive* archive) const { ::archive_write_free(archive); }
  void operator()(::archive_entry* entry) const { ::archive_entry_free(entry); }
};

la_ssize_t append(::archive*, void* out, const void* bytes, std::size_t size) {
  // libarchive calls back for each block: the archive is made in memory.
  static_cast<std::string*>(out)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

bool leads_out(const std::string& path) {
  // A zero byte would end the path that tar sees.
  if (path.empty() || path.front() == '/' || path.find('\0') != path.npos) return true;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") return true;
    begin = end + 1;
  }
  return false;
}

Status add_item(::archive& archive, const Json& item) {
  const std::string path = text_field(item, "path").value_or("");
  if (leads_out(path))
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("modelDefinition: the path '{}' leads out of the folder", path), "");
  // 0 is what clients send that fill in no type.
  const std::int64_t type = whole_field(item, "type").value_or(kFileType);
  // A link could lead out of the folder when the code is unpacked.
  if (type != kFileType && type != kFolderType && type != 0) {
    const bool is_link = type == kLinkType;
    return fail(
        ErrorCode::kInvalidArgument,
        fmt::format("modelDefinition: {} is {}", path, is_link ? "a link" : "of an unknown type"),
        "send files and folders");
  }
  const auto content = parse_base64(text_field(item, "content").value_or(""));
  if (!content.has_value())
    return fail(ErrorCode::kInvalidArgument, fmt::format("modelDefinition: {} is damaged", path),
                content.error().text());
  const bool is_folder = type == kFolderType;
  const std::unique_ptr<::archive_entry, Freer> entry(::archive_entry_new());
  ::archive_entry_set_pathname(entry.get(), path.c_str());
  ::archive_entry_set_filetype(entry.get(), is_folder ? AE_IFDIR : AE_IFREG);
  // Permissions alone: setuid bits do not travel.
  ::archive_entry_set_perm(
      entry.get(),
      static_cast<::mode_t>(whole_field(item, "mode").value_or(is_folder ? 0755 : 0644)) & 0777);
  ::archive_entry_set_size(entry.get(), is_folder ? 0 : static_cast<la_int64_t>(content->size()));
  ::archive_entry_set_mtime(entry.get(),
                            static_cast<::time_t>(whole_field(item, "mtime").value_or(0)), 0);
  const bool is_written =
      ::archive_write_header(&archive, entry.get()) == ARCHIVE_OK &&
      (is_folder || ::archive_write_data(&archive, content->data(), content->size()) ==
                        static_cast<la_ssize_t>(content->size()));
  if (!is_written)
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("modelDefinition: {} cannot be archived", path),
                ::archive_error_string(&archive));
  return {};
}

}  // namespace

Result<std::string> archive_of(const Json& model_definition) {
  if (model_definition.array() == nullptr)
    return fail(ErrorCode::kInvalidArgument, "modelDefinition must be a list of files", "");
  std::string bytes;
  const std::unique_ptr<::archive, Freer> archive(::archive_write_new());
  ::archive_write_add_filter_gzip(archive.get());
  ::archive_write_set_filter_option(archive.get(), "gzip", "timestamp",
                                    nullptr);  // equal code has equal bytes
  // Extended headers only where plain tar does not suffice.
  ::archive_write_set_format_pax_restricted(archive.get());
  if (::archive_write_open(archive.get(), &bytes, nullptr, append, nullptr) != ARCHIVE_OK) {
    return fail(ErrorCode::kInternal, "cannot archive the code",
                ::archive_error_string(archive.get()));
  }
  for (const Json& item : *model_definition.array()) TRY(add_item(*archive, item));
  if (::archive_write_close(archive.get()) != ARCHIVE_OK) {
    return fail(ErrorCode::kInternal, "cannot archive the code",
                ::archive_error_string(archive.get()));
  }
  return bytes;
}

Result<std::string> archive_text(std::string_view script) {
  return base64_text(archive_in(script));
}

}  // namespace muster::api
