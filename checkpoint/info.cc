#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "checkpoint/folder.h"
#include "checkpoint/inspect.h"
#include "checkpoint/manifest.h"

namespace octant {

std::string checkpoint_info(const std::filesystem::path& folder) {
  const stored::Manifest manifest = read_manifest(folder);
  const std::string fault = incompleteness_of(folder);
  uint64_t bytes = 0;
  for (const stored::File& file : manifest.files()) bytes += file.size();
  int64_t parameters = 0;
  for (const stored::Tensor& tensor : manifest.tensors())
    if (tensor.kind() == stored::WEIGHT) parameters += shape_of(tensor).elements();

  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<18}{}\n", name, value);
  };
  line("folder", folder.string());
  line("state", fault.empty() ? "complete" : "incomplete: " + fault);
  line("step", std::to_string(manifest.step()));
  line("tokens", std::to_string(manifest.tokens()));
  line("samples", std::to_string(manifest.consumed_samples()));
  line("seed", std::to_string(manifest.seed()));
  line("optimizer",
       fmt::format("{}, {} updates", manifest.optimizer().kind(), manifest.optimizer().step_count()));
  if (manifest.has_loss_scale()) line("loss scale", fmt::format("{}", manifest.loss_scale().scale()));
  line("data", fmt::format("{:016x}", manifest.data_fingerprint()));
  line("model", fmt::format("{:016x}", manifest.model_fingerprint()));
  line("parameters", std::to_string(parameters));
  line("files", fmt::format("{}, {} bytes", manifest.files_size(), bytes));
  for (const stored::Tensor& tensor : manifest.tensors())
    text += fmt::format("  {:<10}  {:<48} {:>16}  {} {}\n", name_of(tensor.kind()), tensor.name(),
                        shape_of(tensor).str(), tensor.slices_size(),
                        tensor.slices_size() == 1 ? "slice" : "slices");
  text += "job spec, as it was given:\n";
  for (size_t begin = 0; begin < manifest.job_spec().size();) {
    const size_t end = std::min(manifest.job_spec().find('\n', begin), manifest.job_spec().size());
    text += fmt::format("  {}\n", std::string_view(manifest.job_spec()).substr(begin, end - begin));
    begin = end + 1;
  }
  return text;
}

}  // namespace octant
