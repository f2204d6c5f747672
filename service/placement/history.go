package placement

import (
	"slices"
	"sync"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// history records what happened to the subnet managers whose files Fairlane writes, so that drift of devices is
// reported with its cause. Its zero value has no observations. It is safe for concurrent use.
type history struct {
	mu      sync.Mutex
	fabrics map[string]*managerHistory
	turns   map[string]int // observations of placements so far, by fabric
}

// managerHistory is the history of the subnet manager of one fabric.
type managerHistory struct {
	last    osmfile.Observation // the latest observation
	changes int                 // number of changes so far that can affect settings
	text    phrase.Text         // the latest such change; nothing if it explains no change of settings
	// news and placed correspond to changes and text, but for placements: any change affects these, also of files
	news   int
	placed phrase.Text
	// clean maps each device to the value of changes when it was last in sync; for the subnet manager itself, of news.
	clean map[ident.PortID]int
}

// observe adds an observation of a fabric's subnet manager. Changes of a subnet manager that does not write congestion
// control explain no drift of devices.
func (w *history) observe(fabric string, now osmfile.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.fabrics[fabric]
	if s == nil {
		if w.fabrics == nil {
			w.fabrics = map[string]*managerHistory{}
		}
		w.fabrics[fabric] = &managerHistory{last: now, clean: map[ident.PortID]int{}}
		return
	}
	cause := osmfile.CauseOf(s.last, now)
	s.last = now
	if what := slices.Clone(cause.AlsoSaid); len(what) > 0 || cause.Code != osmfile.CauseNone && cause.Code != osmfile.CauseOther {
		if cause.Code != osmfile.CauseOther && cause.Said.ID != "" {
			what = slices.Insert(what, 0, cause.Said)
		}
		s.news++
		s.placed = phrase.Commas(what).Text()
	}
	if cause.Code == osmfile.CauseNone || cause.Code == osmfile.CauseOther {
		return
	}
	s.changes++
	if s.text = (phrase.Text{}); now.WritesCC || now.Foreign {
		s.text = cause.Said
	}
}

// turn returns the number of earlier observations of a fabric's placements.
func (w *history) turn(fabric string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns == nil {
		w.turns = map[string]int{}
	}
	w.turns[fabric]++
	return w.turns[fabric] - 1
}

// wrote records that Fairlane itself changed a fabric's files, which is not a cause of drift.
func (w *history) wrote(fabric string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.fabrics[fabric]; s != nil {
		s.last.Options, s.last.Partitions, s.last.Policy = "", "", ""
	}
}

// explain adds the cause, if known, to those of a fabric's reports that have drifted: what happened to the subnet
// manager since the device was last in sync.
func (w *history) explain(fabric string, reports []control.DeviceReport) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.fabrics[fabric]
	if s == nil {
		return
	}
	for i := range reports {
		r := &reports[i]
		manager := device.IsManager(r.Device.ID)
		changes, text := s.changes, s.text
		if manager {
			changes, text = s.news, s.placed
		}
		switch r.State {
		case device.InSync:
			s.clean[r.Device.ID] = changes
		case device.Drifted:
			if s.clean[r.Device.ID] < changes {
				r.Cause = text
			}
			if r.Cause.ID == "" && s.last.WritesCC && !manager {
				r.Cause = osmfile.CauseOf(s.last, s.last).Said
			}
		}
	}
}
