// Forms of the schema's values: how a field of a case is written as canonical text and read from it. A field is a
// function from a case to the field, `[](auto& c) -> auto& { return c.tokens; }`, without state, so that one lambda
// serves both ways.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "harness/core/check.h"
#include "harness/scenario/schema.h"
#include "harness/scenario/value.h"

namespace moediff::forms {

struct Form {
  KeyType type;
  Range range = {};
  std::span<const std::string_view> words = {};
  std::string_view id_form = "";
  std::string (*get)(const Case&) = nullptr;
  void (*set)(Case&, std::string_view) = nullptr;
};

template <typename Field>
using FieldType = std::remove_cvref_t<decltype(Field{}(std::declval<Case&>()))>;

// Canonical text was checked when it was read; anything else below is our own bug.

template <typename Field>
constexpr Form whole(Field, Range range, std::string_view id_form) {
  return {KeyType::integer,
          range,
          {},
          id_form,
          [](const Case& c) { return std::to_string(Field{}(c)); },
          [](Case& c, std::string_view text) {
            const std::optional<std::int64_t> value = parse_integer(text);
            CHECK(value, "canonical text of a whole number");
            Field{}(c) = static_cast<FieldType<Field>>(*value);
          }};
}

template <typename Field>
constexpr Form number(Field, Range range, std::string_view id_form) {
  return {KeyType::number,
          range,
          {},
          id_form,
          [](const Case& c) { return number_text(Field{}(c)); },
          [](Case& c, std::string_view text) {
            const std::optional<double> value = parse_number(text);
            CHECK(value, "canonical text of a number");
            Field{}(c) = *value;
          }};
}

/// `id_form`: the words for true and false in ids, "inplace|outofplace".
template <typename Field>
constexpr Form flag(Field, std::string_view id_form) {
  return {KeyType::boolean,
          {},
          {},
          id_form,
          [](const Case& c) { return std::string(Field{}(c) ? "true" : "false"); },
          [](Case& c, std::string_view text) { Field{}(c) = text == "true"; }};
}

/// An enum whose enumerators are named by `words`, in order.
template <const auto& words, typename Field>
constexpr Form word(Field) {
  return {KeyType::word,
          {},
          words,
          "",
          [](const Case& c) { return std::string(words[static_cast<std::size_t>(Field{}(c))]); },
          [](Case& c, std::string_view text) {
            std::size_t at = 0;
            while (at < words.size() && words[at] != text) ++at;
            CHECK(at < words.size(), "canonical text of a word");
            Field{}(c) = static_cast<FieldType<Field>>(at);
          }};
}

/// A text that must be one of `words`.
template <const auto& words, typename Field>
constexpr Form word_text(Field) {
  return {KeyType::word,
          {},
          words,
          "",
          [](const Case& c) { return Field{}(c); },
          [](Case& c, std::string_view text) { Field{}(c) = text; }};
}

template <typename Field>
constexpr Form text(Field) {
  return {KeyType::text,
          {},
          {},
          "",
          [](const Case& c) { return Field{}(c); },
          [](Case& c, std::string_view text) { Field{}(c) = text; }};
}

template <typename Field>
constexpr Form path(Field field) {
  Form form = text(field);
  form.type = KeyType::path;
  return form;
}

constexpr KeyRow key(std::string_view path, KeyRole role, const Form& form, std::string_view fallback,
                     std::string_view meaning) {
  return {path, form.type, role, fallback, meaning, form.range, form.words, form.id_form, form.get, form.set};
}

constexpr KeyRow section(std::string_view path, KeyType type, std::string_view meaning) {
  return {path, type, KeyRole::structure, "", meaning};
}

}  // namespace moediff::forms
