// JSON, read by protobuf's own mapping. It is read twice: first as a free value, in which every unknown name
// is found at once with its path, then as the spec itself.
#include <fmt/format.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/json_util.h>

#include "job/field_names.h"
#include "job/load.h"

namespace octant {
namespace {

namespace pb = google::protobuf;

const pb::FieldDescriptor* find_field(const pb::Descriptor& block, const std::string& name) {
  const pb::FieldDescriptor* field = block.FindFieldByName(name);
  if (field) return field;
  for (int i = 0; i < block.field_count(); ++i)
    if (block.field(i)->json_name() == name) return block.field(i);
  return nullptr;
}

void walk(const pb::Struct& object, const pb::Descriptor& block, const std::string& path,
          LoadedSpec& loaded) {
  for (const auto& [name, value] : object.fields()) {
    const pb::FieldDescriptor* field = find_field(block, name);
    if (!field) {
      loaded.errors.push_back(
          {loaded.source, join_path(path, name), "", "unknown field", suggest_field(block, path, name)});
      continue;
    }
    const std::string here = join_path(path, field->name());
    loaded.places[here] = loaded.source;
    if (!field->message_type()) continue;
    if (value.has_struct_value()) walk(value.struct_value(), *field->message_type(), here, loaded);
    if (value.has_list_value()) {
      for (int i = 0; i < value.list_value().values_size(); ++i) {
        const auto& element = value.list_value().values(i);
        if (element.has_struct_value())
          walk(element.struct_value(), *field->message_type(), fmt::format("{}[{}]", here, i), loaded);
      }
    }
  }
}

// "(model.num_layers): invalid value …" names the field before the message.
SpecError describe(const std::string& message, const std::string& source) {
  SpecError error{source, "", "", message, ""};
  const size_t close = message.find("): ");
  if (!message.empty() && message[0] == '(' && close != std::string::npos) {
    error.field = message.substr(1, close - 1);
    error.rule = message.substr(close + 3);
  }
  return error;
}

}  // namespace

LoadedSpec parse_spec_json(const std::string& json, const std::string& source) {
  const pb::LogSilencer silence;
  LoadedSpec loaded;
  loaded.source = source;
  pb::Struct value;
  if (const auto status = pb::util::JsonStringToMessage(json, &value); !status.ok()) {
    loaded.errors.push_back(describe(std::string(status.message()), source));
    loaded.complete = false;
    return loaded;
  }
  walk(value, *spec::Job::descriptor(), "", loaded);
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  if (const auto status = pb::util::JsonStringToMessage(json, &loaded.message, options); !status.ok()) {
    loaded.errors.push_back(describe(std::string(status.message()), source));
    loaded.complete = false;
  }
  return loaded;
}

}  // namespace octant
