#include <fmt/format.h>
#include <google/protobuf/message.h>

#include <cmath>

#include "job/field_names.h"
#include "job/later.h"
#include "job/rules.h"

namespace octant {
namespace {

namespace pb = google::protobuf;

void walk(const pb::Message& message, const std::string& path, SpecReport& report) {
  const auto* reflection = message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const std::string here = join_path(path, field->name());
    if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_DOUBLE &&
        !std::isfinite(reflection->GetDouble(message, field)))
      report.add(here, "must be a finite number", "use a finite number");
    if (field->enum_type()) {
      const auto* word = field->enum_type()->FindValueByNumber(reflection->GetEnumValue(message, field));
      const std::string words = suggest_enum(*field->enum_type(), "");
      if (!word) report.add(here, "is no value of this field", words);
      if (word && is_later(*word)) report.add(here, "is not built yet", words);
    }
    if (!field->message_type()) continue;
    if (field->is_repeated()) {
      for (int i = 0; i < reflection->FieldSize(message, field); ++i)
        walk(reflection->GetRepeatedMessage(message, field, i), fmt::format("{}[{}]", here, i), report);
    } else {
      walk(reflection->GetMessage(message, field), here, report);
    }
  }
}

}  // namespace

void check_values(const spec::Job& job, SpecReport& report) {
  walk(job, "", report);
}

void check_unbuilt(const spec::Job& job, SpecReport& report) {
  const auto refuse = [&](bool later, const char* field, const char* instead) {
    if (later) report.add(field, "is not built yet", instead);
  };
  refuse(job.launch().hosts_size() > 0, "launch.hosts", "leave it out and start the ranks by mpirun");
  refuse(job.launch().elastic(), "launch.elastic", "leave it out");
  const auto& zero = job.zero_optimization();
  refuse(zero.has_offload_optimizer() && !zero.offload_optimizer().has_device(),
         "zero_optimization.offload_optimizer", "leave the block out");
  refuse(zero.has_offload_param() && !zero.offload_param().has_device(), "zero_optimization.offload_param",
         "leave the block out");
}

}  // namespace octant
