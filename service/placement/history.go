package placement

import (
	"slices"
	"strings"
	"sync"

	"fairlane/service/control"
	"fairlane/service/device"
	"fairlane/subnet/ident"
	"fairlane/subnet/opensm/osmfile"
)

// history remembers what happened to the subnet managers whose files are ours to write, so that drift of devices is reported with
// its cause. Its zero value has seen nothing. It is safe for concurrent use.
type history struct {
	mu      sync.Mutex
	fabrics map[string]*managerHistory
	turns   map[string]int // observations of placements so far, by fabric
}

// managerHistory is what was seen on one fabric.
type managerHistory struct {
	last    osmfile.Observation // of the latest look
	changes int                 // that were seen so far
	text    string              // what the latest change was; empty when it explains no settings
	// news and placed are changes and text for what concerns placements: any change does, also of files.
	news   int
	placed string
	// clean is after how many changes, or news for the subnet manager itself, each device was last in sync.
	clean map[ident.PortID]int
}

// look takes an observation of a fabric's subnet manager. One that leaves congestion control alone explains nothing, whatever
// happened to it.
func (w *history) look(fabric string, now osmfile.Observation) {
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
	if what := slices.Clone(cause.Also); len(what) > 0 || cause.Code != osmfile.CauseNone && cause.Code != osmfile.CauseOther {
		if cause.Code != osmfile.CauseOther && cause.Text != "" {
			what = append([]string{cause.Text}, what...)
		}
		s.news++
		s.placed = strings.Join(what, ", ")
	}
	if cause.Code == osmfile.CauseNone || cause.Code == osmfile.CauseOther {
		return
	}
	s.changes++
	if s.text = ""; now.WritesCC || now.Foreign {
		s.text = cause.Text
	}
}

// turn counts the observations of the placements of a fabric, from 0.
func (w *history) turn(fabric string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.turns == nil {
		w.turns = map[string]int{}
	}
	w.turns[fabric]++
	return w.turns[fabric] - 1
}

// wrote notes that a fabric's files were changed by us, which is no news.
func (w *history) wrote(fabric string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.fabrics[fabric]; s != nil {
		s.last.Options, s.last.Partitions, s.last.Policy = "", "", ""
	}
}

// explain gives those of a fabric's reports that drifted the cause, as far as it is known: what happened to the subnet manager since
// the device was last in sync.
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
			if r.Cause == "" && s.last.WritesCC && !manager {
				r.Cause = osmfile.CauseOf(s.last, s.last).Text
			}
		}
	}
}
