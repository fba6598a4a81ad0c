//! The judgement of a JSON Schema validator, in builds that have one (feature `_schema-tests`); in others all is well.

use serde_json::Value;

pub(crate) fn is_schema(schema: &Value) -> bool {
    #[cfg(feature = "_schema-tests")]
    return jsonschema::validator_for(schema).is_ok();
    #[cfg(not(feature = "_schema-tests"))]
    schema.is_object()
}

pub(crate) fn is_valid(schema: &Value, value: &Value) -> bool {
    #[cfg(feature = "_schema-tests")]
    return jsonschema::is_valid(schema, value);
    #[cfg(not(feature = "_schema-tests"))]
    (schema.is_object() && !value.is_null())
}
