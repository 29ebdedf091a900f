#include "train/resume_changes.h"

#include <fmt/format.h>
#include <google/protobuf/text_format.h>

#include <map>

#include "job/load.h"
#include "job/validate.h"

namespace octant {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// Every scalar of a message by its path.
void flatten(const Message& message, const std::string& path, std::map<std::string, std::string>& fields) {
  std::vector<const FieldDescriptor*> present;
  message.GetReflection()->ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    const std::string name = path.empty() ? field->name() : path + "." + field->name();
    const int count = field->is_repeated() ? message.GetReflection()->FieldSize(message, field) : 1;
    for (int index = 0; index < count; ++index) {
      const std::string at = field->is_repeated() ? fmt::format("{}[{}]", name, index) : name;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        flatten(field->is_repeated() ? message.GetReflection()->GetRepeatedMessage(message, field, index)
                                     : message.GetReflection()->GetMessage(message, field),
                at, fields);
      } else {
        TextFormat::PrintFieldValueToString(message, field, field->is_repeated() ? index : -1, &fields[at]);
      }
    }
  }
}

}  // namespace

std::vector<std::string> resume_changes(const stored::Manifest& manifest, const Job& job,
                                        uint64_t data_fingerprint) {
  std::vector<std::string> lines;
  if (manifest.data_fingerprint() != data_fingerprint)
    lines.push_back("the training data differ from those of the checkpoint; the position in them is kept");
  std::map<std::string, std::string> before, now;
  const Validation saved = validate(parse_spec_text(manifest.job_spec(), "the checkpoint's job"));
  if (!saved.job) return lines;  // written by a version with other rules: nothing to compare with
  flatten(saved.job->effective, "", before);
  flatten(job.effective, "", now);
  const auto value = [](const std::map<std::string, std::string>& fields, const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string("(none)") : found->second;
  };
  std::map<std::string, std::string> names = before;
  names.insert(now.begin(), now.end());
  for (const auto& entry : names) {
    const std::string from = value(before, entry.first), to = value(now, entry.first);
    if (from != to) lines.push_back(fmt::format("{}: {} → {}", entry.first, from, to));
  }
  return lines;
}

}  // namespace octant
