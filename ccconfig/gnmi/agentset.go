package gnmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/ccconfig/qos"
	"fairlane/internal/phrase"
	"fairlane/wrcc"
)

// desiredField is one field of the desired settings.
type desiredField struct {
	field string
	key   nicparam.Key // if the field is a parameter
	ops   []gnmitree.Operation
	reset bool // takes effect only after a firmware reset
}

// apply writes the differences in one Set.
func (a *agent) apply(ctx context.Context, dev driver.Device, want driver.Settings) (driver.Receipt, error) {
	var r driver.Receipt
	o, err := a.observe(ctx, dev)
	if err != nil {
		return r, driver.Unsent(err)
	}
	desiredFields, changed, missing := o.desiredFields(want.NIC, a.s.d.rows)
	if len(missing) > 0 {
		return r, a.missing(ctx, dev, o, missing)
	}
	if foreign := want.NIC.Foreign(o.settings); len(foreign) > 0 {
		return r, driver.Refusef(driver.ErrUnsupported, "%s: %s", dev, foreignText(foreign))
	}
	// Unchanged values may be illegal; only changed values must be legal.
	if err := (driver.Settings{NIC: changed}).Validate(dev); err != nil {
		return r, driver.Refusef(driver.ErrInvalid, "%w", err)
	}
	var ops []gnmitree.Operation
	for _, w := range desiredFields {
		ops = append(ops, w.ops...)
	}
	if len(ops) > 0 {
		err = a.s.set(ctx, ops, sharedElems(ops))
	}
	if err != nil {
		return a.refused(ctx, dev, desiredFields, err)
	}
	pending := a.pending(ctx, dev, o, desiredFields)
	for _, w := range desiredFields {
		done := driver.OutcomeAcknowledged
		if len(w.ops) == 0 {
			done = driver.OutcomeUnchanged
		}
		r.Note(w.field, done, pending[w.key])
	}
	return r, nil
}

// sharedElems returns the length, in elements, of the common prefix of the operations' paths, each without its last
// element.
func sharedElems(ops []gnmitree.Operation) int {
	first := ops[0].Path.Elems
	n := len(first) - 1
	for _, o := range ops[1:] {
		n = min(n, len(o.Path.Elems)-1)
		for i := range n {
			if e := o.Path.Elems[i]; e.Name != first[i].Name || !slices.Equal(e.Keys, first[i].Keys) {
				n = i
				break
			}
		}
	}
	return n
}

// desiredFields returns the fields of want, with operations where they differ from the observed state, and the part of want that
// differs. missing are parameters of the table that were not observed.
func (o *observed) desiredFields(want *driver.NICState, rows *nicparam.Table) (out []desiredField, changed *driver.NICState, missing []nicparam.Key) {
	out = make([]desiredField, 0, len(want.Params)+1)
	changed = &driver.NICState{}
	var params gnmitree.Path // of the port, or of the card
	of := -1
	whole := driver.NICState{Params: slices.Concat(want.Params, want.Cleared(o.settings), want.ShareParams())}
	whole.Sort()
	for _, p := range whole.Params {
		row, known := rows.Find(p.Name)
		w := desiredField{field: "nic." + p.Name, key: nicparam.Key{Port: o.port, Name: p.Name, Index: p.Index}}
		if p.Index > 0 {
			w.field = fmt.Sprintf("nic.%s[%d]", p.Name, p.Index)
		}
		if known && row.Scope == nicparam.ScopeDevice {
			w.key.Port = 0
		}
		_, w.reset = slices.BinarySearch(o.resetOnly, p.Name)
		got, ok := o.settings.Param(p.Name, p.Index)
		if !ok && known {
			missing = append(missing, w.key)
			continue
		}
		if !ok || got != p.Value {
			changed.Params = append(changed.Params, p)
			if of != w.key.Port {
				params, of = nicyang.Params(o.nic, w.key.Port), w.key.Port
			}
			w.ops = []gnmitree.Operation{{Op: gnmitree.OpUpdate, Path: nicyang.ParamOf(params, w.key).Child("config").Child("value"), Value: gnmitree.Uint(p.Value)}}
		}
		out = append(out, w)
	}
	o.completeShares(changed, &whole)
	if want.WRCC != nil {
		changed.WRCC = want.WRCC
		out = append(out, o.senders(want.WRCC))
	}
	return out, changed, missing
}

// completeShares adds to changed parameters of traffic classes those of all classes, because they are checked together.
func (o *observed) completeShares(changed, want *driver.NICState) {
	of := func(p driver.NICParam) bool { return p.Name == driver.PercentParam || p.Name == driver.SelectionParam }
	if !slices.ContainsFunc(changed.Params, of) {
		return
	}
	for _, p := range o.settings.Params {
		if _, has := changed.Param(p.Name, p.Index); has || !of(p) {
			continue
		}
		if v, set := want.Param(p.Name, p.Index); set {
			p.Value = v
		}
		changed.Params = append(changed.Params, p)
		changed.Sort()
	}
}

// foreignText names the traffic classes outside the plan that have bandwidth, with the remedy.
func foreignText(foreign []qos.ClassShare) string {
	names := make([]string, len(foreign))
	for i, c := range foreign {
		names[i] = fmt.Sprintf("%d (%d %%)", c.Class, c.Percent)
	}
	return fmt.Sprintf("traffic classes %s have bandwidth and are not of the plan, whose shares are the whole port: give them 0 %%, or strict priority, or add them to the classes of the site", strings.Join(names, ", "))
}

// missing returns the error for parameters without a value. Unreadable parameters may become readable later; parameters that
// the port does not have will not.
func (a *agent) missing(ctx context.Context, dev driver.Device, o *observed, keys []nicparam.Key) error {
	kind := driver.ErrBusy
	var reasons []string
	for i, k := range keys {
		if i == maxSentences {
			reasons = append(reasons, fmt.Sprintf("and %d more", len(keys)-i))
			break
		}
		st, err := a.paramState(ctx, o, k)
		switch {
		case status.Code(err) == codes.NotFound:
			kind = driver.ErrUnsupported
			reasons = append(reasons, fmt.Sprintf("%s: its host has no path to it", k))
		case err != nil:
			return driver.Unsent(a.s.classify(ctx, "state of "+k.String(), dev, err))
		default:
			reasons = append(reasons, fmt.Sprintf("%s: it cannot be read: %s", k, cmp.Or(st.Problem, "the agent does not say why")))
		}
	}
	return driver.Refusef(kind, "%s: %s", dev, strings.Join(reasons, "; "))
}

// paramState reads the state of a parameter. The error is that of the request.
func (a *agent) paramState(ctx context.Context, o *observed, k nicparam.Key) (st nicyang.ParamState, err error) {
	answers, err := a.s.get(ctx, query{gpb.GetRequest_STATE, gpb.Encoding_JSON_IETF, []gnmitree.Path{nicyang.Param(o.nic, k).Child("state")}})
	if err == nil && len(answers[0].updates) > 0 {
		err = unqualified(answers[0], &st)
	}
	return st, err
}

// senders replaces the complete WRCC configuration of the port if any part differs; the agent applies only the difference.
func (o *observed) senders(want *wrcc.NICConfig) desiredField {
	w := desiredField{field: "nic.wrcc"}
	a := driver.Settings{NIC: &driver.NICState{WRCC: want}}
	if !a.Equal(driver.Settings{NIC: &driver.NICState{WRCC: o.settings.WRCC}}) {
		w.ops = []gnmitree.Operation{{Op: gnmitree.OpReplace, Path: nicyang.WRCC(o.nic, o.port), Value: nicyang.WRCCValue(want)}}
	}
	return w
}

// refused returns the receipt of a failed Set, with the details of each field in the error.
func (a *agent) refused(ctx context.Context, dev driver.Device, desiredFields []desiredField, cause error) (driver.Receipt, error) {
	var r driver.Receipt
	err := a.s.classify(ctx, "set", dev, cause)
	whole := driver.OutcomeOf(err)
	failures := nicyang.Failures(cause)
	if len(failures) > 0 {
		err = fmt.Errorf("set of %s: %w: %s", dev, kindOfFailures(err, failures), sentences(failures))
		whole = driver.OutcomeRefused
	}
	for _, w := range desiredFields {
		if len(w.ops) == 0 {
			r.NoteError(w.field, driver.OutcomeUnchanged, nil)
			continue
		}
		if f := failureOf(w, failures); f != nil {
			r.Note(w.field, whole, driver.SaidAs(kindOfFailures(err, []nicyang.Failure{*f}), f.Text))
		} else if len(failures) > 0 { // the transaction was undone because of other fields
			r.NoteError(w.field, driver.OutcomeSkipped, nil)
		} else {
			r.NoteError(w.field, whole, err)
		}
	}
	return r, err
}

func failureOf(w desiredField, failures []nicyang.Failure) *nicyang.Failure {
	for i := range failures {
		f := &failures[i]
		if w.key.Name != "" && f.Key == w.key || w.key.Name == "" && f.Key.Name == "" && strings.Contains(f.Path, "/wrcc") {
			return f
		}
	}
	return nil
}

// kindOfFailures returns the most serious error kind of the failed fields, or that of err if they have none.
func kindOfFailures(err error, failures []nicyang.Failure) error {
	kinds := map[nicyang.Reason]error{
		nicyang.ReasonInvalid: driver.ErrInvalid, nicyang.ReasonClipped: driver.ErrUnsupported, nicyang.ReasonAbsent: driver.ErrUnsupported,
		nicyang.ReasonUnreadable: driver.ErrBusy, nicyang.ReasonRefused: driver.ErrBusy, nicyang.ReasonIgnored: driver.ErrBusy,
		nicyang.ReasonUnverified: driver.ErrBusy, nicyang.ReasonNotRestored: driver.ErrBusy, nicyang.ReasonOverridden: driver.ErrConflict,
	}
	for _, kind := range []error{driver.ErrInvalid, driver.ErrUnsupported, driver.ErrConflict, driver.ErrBusy} {
		if slices.ContainsFunc(failures, func(f nicyang.Failure) bool { return errors.Is(kinds[f.Reason], kind) }) {
			return kind
		}
	}
	return driver.KindOf(err)
}

// maxSentences is the largest number of a Set's failures in an error text.
const maxSentences = 4

func sentences(failures []nicyang.Failure) string {
	var out []string
	for _, f := range failures[:min(len(failures), maxSentences)] {
		out = append(out, f.Text)
	}
	if n := len(failures) - maxSentences; n > 0 {
		out = append(out, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(out, "; ")
}

// pending reports which parameters with effect after a firmware reset are waiting for one. It reads their state only if there
// are any.
func (a *agent) pending(ctx context.Context, dev driver.Device, o *observed, desiredFields []desiredField) map[nicparam.Key]phrase.Text {
	var out map[nicparam.Key]phrase.Text
	for _, w := range desiredFields {
		if !w.reset || w.key.Name == "" {
			continue
		}
		if out == nil {
			out = map[nicparam.Key]phrase.Text{}
		}
		st, err := a.paramState(ctx, o, w.key)
		switch {
		case err != nil: // the write itself succeeded
			out[w.key] = phrase.Of("receipt.reset-unread", "error", driver.Said(a.s.classify(ctx, "get", dev, err)))
		case st.PendingReset && st.Value != nil:
			out[w.key] = phrase.Of("receipt.reset-value", "value", *st.Value)
		case st.PendingReset:
			out[w.key] = phrase.Of("receipt.reset")
		}
	}
	return out
}
