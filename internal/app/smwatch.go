package app

import (
	"context"
	"sync"

	"fairlane/internal/control"
	"fairlane/internal/reconcile"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// smWatch remembers what happened to the subnet managers whose files are ours to write, so that drift of devices is told with
// its cause. Its zero value has seen nothing. It is safe for concurrent use.
type smWatch struct {
	mu      sync.Mutex
	fabrics map[string]*smSeen
}

// smSeen is what was seen on one fabric.
type smSeen struct {
	last    osmfile.Observation // of the latest look
	changes int                 // that were seen so far
	text    string              // what the latest change was; empty when it explains nothing
	// clean is after how many changes each device was last read as wanted.
	clean map[ident.PortID]int
}

// look takes an observation of a fabric's subnet manager. One that leaves congestion control alone explains nothing, whatever
// happened to it.
func (w *smWatch) look(fabric string, now osmfile.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.fabrics[fabric]
	if s == nil {
		if w.fabrics == nil {
			w.fabrics = map[string]*smSeen{}
		}
		w.fabrics[fabric] = &smSeen{last: now, clean: map[ident.PortID]int{}}
		return
	}
	cause := osmfile.CauseOf(s.last, now)
	s.last = now
	if cause.Code == osmfile.CauseNone || cause.Code == osmfile.CauseOther {
		return
	}
	s.changes++
	if s.text = ""; now.WritesCC || now.Foreign {
		s.text = cause.Text
	}
}

// wrote notes that a fabric's files were changed by us, which is no news.
func (w *smWatch) wrote(fabric string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.fabrics[fabric]; s != nil {
		s.last.Options, s.last.Partitions, s.last.Policy = "", "", ""
	}
}

// explain gives those of a fabric's reports that drifted the cause, as far as it is known: what happened to the subnet manager since
// the device was last read as wanted.
func (w *smWatch) explain(fabric string, reports []control.DeviceReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.fabrics[fabric]
	if s == nil {
		return
	}
	for i := range reports {
		switch r := &reports[i]; reconcile.State(r.State) {
		case reconcile.InSync:
			s.clean[r.Device.ID] = s.changes
		case reconcile.Drifted:
			if s.clean[r.Device.ID] < s.changes {
				r.Cause = s.text
			}
			if r.Cause == "" && s.last.WritesCC {
				r.Cause = osmfile.CauseOf(s.last, s.last).Text
			}
		}
	}
}

// watchManager looks at the subnet manager of a session's fabric, when its files are ours, and explains the reports.
func (p *ports) watchManager(ctx context.Context, fabric string, s *session, reports []control.DeviceReport) {
	sm, ok := s.placer.(osmPlacer)
	if !ok {
		return
	}
	if now, err := sm.Manager.Observe(ctx); err == nil { // else there is nothing to compare with
		p.watch.look(fabric, now)
	}
	p.watch.explain(fabric, reports)
}
