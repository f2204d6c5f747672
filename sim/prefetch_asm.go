//go:build amd64 || arm64

package sim

import "unsafe"

//go:noescape
func prefetch(p unsafe.Pointer)
