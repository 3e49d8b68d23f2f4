//! The report as JSON: one object, whose field names scripts may rely on.

use explore::Report;
use serde_json::{Value, json};

/// One JSON object with at least `verdict`, `guarantee`, `algorithm`, `bound`, `memory`, `executions`, `blocked`,
/// `caveats` (each with `kind`, `text`, `places`), `failures` (each with `kind`, `message`, `location`, `replay`, `trace`) and `seconds`. These are always there; what
/// is not known is `null`. Other fields come and go.
pub fn render(report: &Report) -> String {
    let mut out = match serde_json::to_value(report) {
        Ok(value) => value,
        // Only a type that refuses to be written can fail, and none of ours does; still, this is no place to panic.
        Err(error) => {
            json!({ "verdict": report.verdict, "guarantee": report.guarantee, "error": error.to_string() })
        }
    };
    for failure in out["failures"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        for field in ["location", "thread"] {
            failure.entry(field).or_insert(Value::Null);
        }
    }
    format!("{out:#}\n")
}
