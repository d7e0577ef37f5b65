// Package verdict is the condition language: what an expression over the answer
// of a provider makes of it.
//
// Law: a gate opens only on an explicit success. What has no data is judged after
// the conditions: an expression that itself asks for emptiness decides, otherwise
// an answer that is nothing, an empty list, NaN or infinite is no data, whatever
// the expression says. Judging is total and bounded for hostile expressions and
// values.
package verdict
