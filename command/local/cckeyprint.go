package local

import (
	"fmt"
	"slices"
	"strconv"

	"fairlane/ccconfig/ibmad"
	"fairlane/command/cmdline"
)

// ccKeyReport is the output of `device cc-key --json`. It contains no key.
type ccKeyReport struct {
	Devices     []ccKeyDevice `json:"devices"`
	DryRun      bool          `json:"dry_run,omitempty"`
	Changed     int           `json:"changed"`
	WouldChange int           `json:"would_change"`
	Unchanged   int           `json:"unchanged"`
	Unsupported int           `json:"unsupported"`
	Failed      int           `json:"failed"`
	Skipped     int           `json:"skipped"`
	Stopped     string        `json:"stopped,omitempty"`
}

// ccKeyDevice is the key state of one device.
type ccKeyDevice struct {
	Name       string           `json:"name"`
	Kind       string           `json:"kind"`
	LID        uint16           `json:"lid"`
	Key        ibmad.KeyHolder  `json:"key"`                // none, known, other or hidden; empty: not known
	KeyFile    string           `json:"key_file,omitempty"` // that contains the device's key
	Protect    *bool            `json:"protect,omitempty"`  // this and the next two only if known
	LeaseS     *uint16          `json:"lease_s,omitempty"`
	Violations *uint16          `json:"violations,omitempty"`
	Outcome    ibmad.KeyOutcome `json:"outcome,omitempty"` // of a change
	Error      string           `json:"error,omitempty"`
}

// add appends a device; files are those of the tried keys, in the order of the tries.
func (r *ccKeyReport) add(s *ibmad.KeyState, outcome ibmad.KeyOutcome, err error, files []keyFile) {
	d := ccKeyDevice{
		Name: s.Device.Name, Kind: s.Device.Kind.String(), LID: uint16(s.Device.LID), Key: s.Holder, Outcome: outcome,
	}
	if s.Holder != ibmad.KeyUnknown {
		d.Protect, d.LeaseS, d.Violations = &s.Protect, &s.LeaseSeconds, &s.Violations
	}
	if s.Known >= 0 && s.Known < len(files) {
		d.KeyFile = files[s.Known].path
	}
	if err == nil {
		err = s.Err
	}
	if err != nil {
		d.Error = err.Error()
	}
	r.Devices = append(r.Devices, d)
	switch outcome {
	case ibmad.KeyChanged:
		r.Changed++
	case ibmad.KeyWouldChange:
		r.WouldChange++
	case ibmad.KeyUnchanged:
		r.Unchanged++
	case ibmad.KeyUnsupported:
		r.Unsupported++
	case ibmad.KeyFailed:
		r.Failed++
	case ibmad.KeySkipped:
		r.Skipped++
	}
}

// silent returns the number of devices with an unknown state.
func (r *ccKeyReport) silent() int {
	n := 0
	for i := range r.Devices {
		if r.Devices[i].Key == ibmad.KeyUnknown {
			n++
		}
	}
	return n
}

// kept returns how many devices have the key, or would have it, with and without protection, as it was before the
// change.
func (r *ccKeyReport) kept() (with, without int) {
	for i := range r.Devices {
		switch d := &r.Devices[i]; d.Outcome {
		case ibmad.KeyChanged, ibmad.KeyWouldChange, ibmad.KeyUnchanged:
			if d.Protect != nil && *d.Protect {
				with++
			} else {
				without++
			}
		}
	}
	return with, without
}

// printKeys prints all devices, or only the faulty ones, and the outcomes of the others as counts.
func (a *app) printKeys(r *ccKeyReport, asJSON, all bool) error {
	if asJSON {
		return cmdline.PrintJSON(a.Stdout, r)
	}
	rows := r.Devices
	if !all {
		rows = slices.DeleteFunc(slices.Clone(rows), func(d ccKeyDevice) bool { return d.Outcome != ibmad.KeyFailed })
	}
	if len(rows) > 0 {
		t := cmdline.NewTable(a.Stdout, 0)
		_, _ = fmt.Fprintln(t, a.T("cckey.columns"))
		for i := range rows {
			d := &rows[i]
			protect, lease, violations := "-", "-", "-"
			if d.Protect != nil {
				protect, lease, violations = a.T(fmt.Sprintf("cckey.protect.%t", *d.Protect)), strconv.Itoa(int(*d.LeaseS)), strconv.Itoa(int(*d.Violations))
			}
			_, _ = fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\n", d.Name, d.LID, a.keyText(d), protect, lease, violations, d.Error)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if all {
		return nil
	}
	text := "cckey.result"
	if r.DryRun {
		text = "cckey.result.dry"
	}
	_, err := fmt.Fprintln(a.Stdout, a.T(text, "changed", r.Changed, "would", r.WouldChange, "unchanged", r.Unchanged,
		"unsupported", r.Unsupported, "failed", r.Failed, "skipped", r.Skipped))
	return err
}

// keyText describes the key of a device in words.
func (a *app) keyText(d *ccKeyDevice) string {
	switch d.Key {
	case ibmad.KeyKnown:
		if d.KeyFile != "" {
			return d.KeyFile
		}
		return a.T("cckey.key.known")
	case ibmad.KeyNone, ibmad.KeyOther, ibmad.KeyHidden:
		return a.T("cckey.key." + string(d.Key))
	default:
		return a.T("cckey.key.silent")
	}
}
