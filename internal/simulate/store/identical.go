package store

import "unsafe"

// Identical tells that two values are the same bit by bit: what they point at is
// then one and the same, so they are equal in every sense. Stored objects share
// all that did not change. This is the only place that looks at memory as such,
// and it only reads; where it says no, the values are compared in the long way.
func Identical[T any](a, b *T) bool {
	n := unsafe.Sizeof(*a)
	return string(unsafe.Slice((*byte)(unsafe.Pointer(a)), n)) == string(unsafe.Slice((*byte)(unsafe.Pointer(b)), n))
}
