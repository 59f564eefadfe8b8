// In place of the empty class that the generator makes of an integer or a text, which is no Dart.
part of openapi.api;

class IdOrMade {
  IdOrMade(this.value);

  final Object value;

  Object toJson() => value;

  static IdOrMade? fromJson(dynamic value) => value == null ? null : IdOrMade(value as Object);

  static List<IdOrMade> listFromJson(dynamic json, {bool growable = false}) =>
      json is List ? [for (final one in json) IdOrMade(one as Object)] : [];

  static Map<String, IdOrMade> mapFromJson(dynamic json) =>
      json is Map ? json.map((key, value) => MapEntry(key as String, IdOrMade(value as Object))) : {};
}
