package sim

import "unsafe"

// Prefetch asks the processor to bring the 128 bytes from p on into its cache, and waits for nothing: a model with
// more state than the cache holds calls it for what it will need some events later. It changes nothing else, may be
// called with any pointer, nil included, and does nothing on processors other than amd64 and arm64.
func Prefetch[T any](p *T) { prefetch(unsafe.Pointer(p)) }
