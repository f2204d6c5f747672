// Package halves runs work on two goroutines.
package halves

import "sync"

// Do calls work for the two halves of 0..n-1, on two goroutines.
func Do(n int, work func(from, to int)) {
	if n == 0 {
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { work(0, n/2) })
	work(n/2, n)
	wg.Wait()
}
