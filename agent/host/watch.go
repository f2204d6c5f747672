package host

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Watcher reports that network or RDMA devices appeared, disappeared or changed. Route netlink reports network
// devices; the kernel's device events (as for udev) report RDMA devices. An event does not identify the device.
type Watcher struct {
	events  chan struct{}
	sockets []*socket
	wg      sync.WaitGroup
}

// Watch starts to listen. Close ends it.
func Watch() (*Watcher, error) {
	w := &Watcher{events: make(chan struct{}, 1)}
	for _, s := range []struct {
		protocol int
		groups   uint32
	}{{unix.NETLINK_ROUTE, unix.RTMGRP_LINK}, {unix.NETLINK_KOBJECT_UEVENT, 1}} {
		k, err := openSocket(s.protocol, s.groups)
		if err != nil {
			return nil, errors.Join(err, w.Close())
		}
		w.sockets = append(w.sockets, k)
		w.wg.Add(1)
		go func() {
			defer w.wg.Done()
			w.listen(k)
		}()
	}
	return w, nil
}

// Events receives at least once after the last event.
func (w *Watcher) Events() <-chan struct{} { return w.events }

// listen records events until the socket is closed. An overflow of the socket's memory counts as one, too.
func (w *Watcher) listen(s *socket) {
	buffer := make([]byte, 1<<16)
	for {
		if _, err := s.Receive(buffer); err != nil && !errors.Is(err, unix.ENOBUFS) {
			return // closed
		}
		select {
		case w.events <- struct{}{}:
		default:
		}
	}
}

// Close ends listening and waits for the goroutine.
func (w *Watcher) Close() error {
	var errs []error
	for _, s := range w.sockets {
		if err := s.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err)
		}
	}
	w.wg.Wait()
	return errors.Join(errs...)
}
