package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/service/site"
	"fairlane/subnet/discover"
	"fairlane/subnet/ident"
	"fairlane/subnet/mad"
	"fairlane/subnet/umad"
)

// watchRest is the shortest interval between scans, and the pause between those that traps trigger: a device repeats a
// trap until its subnet manager answers, and a flapping link sends many.
const watchRest = time.Second

// Kinds of lines in addition to those of discover.Event.
const (
	watchWarns   = "warning-begins"
	watchCalms   = "warning-ends"
	watchSilent  = "fabric-silent"
	watchAnswers = "fabric-answers"
)

// watchLine is the output of `fabric watch --json` for each event.
type watchLine struct {
	Time    time.Time            `json:"time"` // end of the scan that found it
	Kind    string               `json:"kind"`
	Node    ident.GUID           `json:"node,omitzero"`
	Port    ident.PortNum        `json:"port,omitzero"`
	Peer    ident.PortID         `json:"peer,omitzero"`
	Warning discover.WarningKind `json:"warning,omitempty"`
	Text    string               `json:"text"`
	said    phrase.Text          // Text as a sentence; the zero value if the text is an error
}

// watchFlags are the flags of `fabric watch`.
type watchFlags struct {
	from, mKey            string
	every                 time.Duration
	count                 int
	traps, routes, asJSON bool
}

// fabricWatchCommand returns `fabric watch`, which needs no service.
func (a *app) fabricWatchCommand() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch --from SOURCE",
		Short: a.T("fabricwatch.short"),
		Long:  a.T("fabricwatch.long"),
		Example: `  fairlane fabric watch --from ibsim:unix:lab
  fairlane fabric watch --from umad:mlx5_0:1 --every 30s --m-key-file mkey
  fairlane fabric watch --from ibsim:unix:lab --every 1s --count 60 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.fabricWatch(cmd.Context(), f) },
	}
	cmd.Flags().StringVar(&f.from, "from", "", a.T("fabricwatch.from", "forms", "umad:CA:PORT, ibsim:unix:NAME, ibsim:udp:HOST:PORT"))
	a.MKeyFlag(cmd, &f.mKey)
	cmd.Flags().DurationVar(&f.every, "every", 10*time.Second, a.T("fabricwatch.every"))
	cmd.Flags().IntVar(&f.count, "count", 0, a.T("fabricwatch.count"))
	cmd.Flags().BoolVar(&f.routes, "routes", false, a.T("fabricwatch.routes"))
	cmd.Flags().BoolVar(&f.traps, "traps", false, a.T("fabricwatch.traps"))
	cmd.Flags().BoolVar(&f.asJSON, "json", false, a.T("flag.json"))
	cmdline.Must(cmd.MarkFlagRequired("from"))
	a.LocalOnly(cmd)
	return cmd
}

func (a *app) fabricWatch(ctx context.Context, f watchFlags) error {
	w, err := a.newWatch(f, umad.Options{})
	if err != nil {
		return err
	}
	ticker := time.NewTicker(f.every)
	defer ticker.Stop()
	w.ticks = ticker.C
	return w.run(ctx)
}

// fabricWatch is a fabric that is scanned periodically.
type fabricWatch struct {
	a       *app
	flags   watchFlags
	dial    func(context.Context) (site.Transport, error)
	options discover.AgainOptions
	ticks   <-chan time.Time
	traps   trapBox

	conn      site.Transport // nil before the first scan, and after a failed one
	last      *discover.Result
	warned    []watchWarning // of the last scan
	silent    bool           // the last scan failed
	failure   error          // of the latest failed scan
	begun     time.Time
	scannedAt time.Time // end of the last scan
	scans     int
	mads      int
	reported  map[string]int // number of lines by kind
}

// watchWarning is a reported warning.
type watchWarning struct {
	line watchLine // without time and kind
	seen discover.Warning
}

// same reports whether two scans warn of the same fault: the path to the node may differ.
func (w *watchWarning) same(o *watchWarning) bool {
	return w.seen.Kind == o.seen.Kind && w.seen.Node == o.seen.Node && w.seen.Port == o.seen.Port && w.seen.Text == o.seen.Text
}

// newWatch checks the flags. The options of the port are for tests.
func (a *app) newWatch(f watchFlags, o umad.Options) (*fabricWatch, error) {
	src, err := site.ParseSourceOf(f.from, site.LiveForms)
	switch {
	case err != nil:
		return nil, err
	case src.Ethernet != "":
		return nil, usage.Of(phrase.Of("source.want-live", "source", f.from, "want", site.LiveForms))
	case src.File != "":
		return nil, usage.Of(phrase.Of("source.file-static", "source", f.from, "want", site.LiveForms))
	case f.every < watchRest:
		return nil, usage.Of(phrase.Of("usage.flag-least", "flag", "every", "value", f.every.String(), "min", watchRest.String()))
	case f.count < 0:
		return nil, usage.Of(phrase.Of("usage.scan-count", "value", f.count))
	case f.traps && src.UMAD == umad.Name{}:
		return nil, usage.Of(phrase.Of("usage.traps-source", "source", f.from))
	}
	w := &fabricWatch{a: a, flags: f, reported: map[string]int{}, traps: trapBox{news: make(chan struct{}, 1)}}
	w.options = discover.AgainOptions{Options: discover.Options{Parallel: site.SweepParallel}, Routes: f.routes}
	if src.MKey, err = site.MKey(f.mKey); err != nil {
		return nil, err
	}
	if f.traps {
		o.Traps = w.traps.take
	}
	w.dial = func(ctx context.Context) (site.Transport, error) { return src.DialBy(ctx, o) }
	return w, nil
}

// run scans until the requested number of scans is reached or the context ends, which is no error.
func (w *fabricWatch) run(ctx context.Context) error {
	w.begun = time.Now()
	defer w.disconnect()
	for ctx.Err() == nil {
		if err := w.scan(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		if w.flags.count > 0 && w.scans >= w.flags.count {
			break
		}
		w.next(ctx)
	}
	return w.end()
}

// end prints the totals, and fails if the fabric does not answer.
func (w *fabricWatch) end() error {
	w.sum()
	if w.silent {
		return errors.New(w.a.T("fabricwatch.silent", "error", w.failure))
	}
	return nil
}

// next waits for the next scan.
func (w *fabricWatch) next(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.ticks:
	case <-w.traps.news:
		rest := time.NewTimer(time.Until(w.scannedAt.Add(watchRest)))
		defer rest.Stop()
		select {
		case <-ctx.Done():
		case <-rest.C:
		}
	}
}

// scan sweeps the fabric once and reports changes. It returns errors of the first scan, of one that the end of the
// context interrupted, and of the output.
func (w *fabricWatch) scan(ctx context.Context) error {
	named := w.traps.empty()
	r, err := w.sweep(ctx, named)
	if err != nil {
		return w.fails(ctx, err, named)
	}
	w.scannedAt = time.Now()
	w.scans++
	before := w.last
	w.last = r
	w.mads += r.MADs
	if before == nil {
		w.introduce(r)
	} else if err := w.changes(before, r); err != nil {
		return err
	}
	return w.warn(r)
}

// fails handles the error of a scan. That of the first scan, or of an interrupted one, ends the watch; later errors are
// reported when they begin.
func (w *fabricWatch) fails(ctx context.Context, err error, named []ident.LID) error {
	if w.last == nil || ctx.Err() != nil { // an interrupted scan is incomplete
		return err
	}
	w.scannedAt = time.Now()
	w.scans++
	w.traps.add(named...) // for the next scan
	w.disconnect()
	known := w.silent
	w.silent, w.failure = true, err
	if known {
		return nil
	}
	return w.report(watchLine{Kind: watchSilent, Text: err.Error()})
}

// sweep discovers the whole fabric the first time, and later only changes.
func (w *fabricWatch) sweep(ctx context.Context, named []ident.LID) (*discover.Result, error) {
	if w.conn == nil {
		c, err := w.dial(ctx)
		if err != nil {
			return nil, err
		}
		w.conn = c
	}
	if w.last == nil {
		return w.a.sweep(ctx, w.flags.from, w.conn, w.options.Options)
	}
	o := w.options
	o.Named = named
	r, err := discover.Again(ctx, w.conn, w.last, o)
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("source.discover", "fabric", w.flags.from, "reason", err))
	}
	return r, nil
}

func (w *fabricWatch) disconnect() {
	if w.conn != nil {
		_ = w.conn.Close() // the slot is released in any case
		w.conn = nil
	}
}

// introduce reports what is watched.
func (w *fabricWatch) introduce(r *discover.Result) {
	f := r.Fabric
	w.words(w.a.T("fabricwatch.begin", "source", w.flags.from, "nodes", len(f.Nodes), "switches", len(f.Switches()), "hosts", len(f.Hosts()),
		"links", len(f.Links), "every", w.flags.every))
}

// changes reports the changes since the sweep before.
func (w *fabricWatch) changes(before, now *discover.Result) error {
	if w.silent {
		w.silent = false
		said := phrase.Of("discovery.answers-again", "nodes", len(now.Fabric.Nodes))
		if err := w.report(watchLine{Kind: watchAnswers, Text: said.String(), said: said}); err != nil {
			return err
		}
	}
	for _, e := range discover.Changes(before, now) {
		if err := w.report(watchLine{Kind: string(e.Kind), Node: e.Node, Port: e.Port, Peer: e.Peer, Text: e.Text, said: e.Said}); err != nil {
			return err
		}
	}
	return nil
}

// warn reports warnings that began and ended.
func (w *fabricWatch) warn(r *discover.Result) error {
	var now []watchWarning
	for _, seen := range r.Warnings {
		said := seen.At(r.Fabric)
		k := watchWarning{seen: seen, line: watchLine{Node: seen.Node, Port: seen.Port, Warning: seen.Kind, Text: said.String(), said: said}}
		if !slices.ContainsFunc(now, func(o watchWarning) bool { return k.same(&o) }) {
			now = append(now, k)
		}
	}
	before := w.warned
	w.warned = now
	for _, half := range []struct {
		kind       string
		these, not []watchWarning
	}{{watchCalms, before, now}, {watchWarns, now, before}} {
		for i := range half.these {
			k := &half.these[i]
			if slices.ContainsFunc(half.not, func(o watchWarning) bool { return k.same(&o) }) {
				continue
			}
			line := k.line
			line.Kind = half.kind
			if err := w.report(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// report prints one line.
func (w *fabricWatch) report(l watchLine) error {
	w.reported[l.Kind]++
	l.Time = w.scannedAt.UTC().Truncate(time.Millisecond)
	if w.flags.asJSON {
		return json.NewEncoder(w.a.Stdout).Encode(l)
	}
	text := w.a.Texts.Either(l.Text, &l.said)
	if l.Warning != "" {
		text = string(l.Warning) + ": " + text
	}
	_, err := fmt.Fprintf(w.a.Stdout, "%s  %s  %s\n", l.Time.Format(time.RFC3339), l.Kind, text)
	return err
}

// words prints a message on standard error.
func (w *fabricWatch) words(text string) {
	_, _ = fmt.Fprintln(w.a.Stderr, text) // a broken terminal does not affect the result
}

// sum prints the totals.
func (w *fabricWatch) sum() {
	var kinds []string
	events := 0
	for _, k := range slices.Sorted(maps.Keys(w.reported)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", k, w.reported[k]))
		events += w.reported[k]
	}
	text := w.a.T("fabricwatch.end", "scans", w.scans, "time", time.Since(w.begun).Round(time.Second), "events", events, "mads", w.mads)
	if events > 0 {
		text += w.a.T("fabricwatch.kinds", "kinds", strings.Join(kinds, ", "))
	}
	w.words(text)
	if len(w.warned) > 0 {
		w.words(w.a.T("fabricwatch.left", "n", len(w.warned)))
	}
}

// trapBox collects the LIDs that traps named since the last scan. It is safe for concurrent use.
type trapBox struct {
	news chan struct{} // holds one

	mu   sync.Mutex
	lids map[ident.LID]bool
}

// take receives a trap from a transport. It ignores irrelevant traps and other packets.
func (b *trapBox) take(_ ident.LID, p mad.Packet) {
	var n mad.Notice
	if p.Attr() != mad.AttrNotice || n.Decode(p.Data()) != nil || !n.Generic {
		return
	}
	var lid ident.LID
	switch n.TrapNumber {
	case mad.TrapLinkStateChange:
		var d mad.LinkStateChange
		if d.Decode(n.Details[:]) != nil {
			return
		}
		lid = d.LID
	case mad.TrapCapabilityChange:
		var d mad.CapabilityChange
		if d.Decode(n.Details[:]) != nil {
			return
		}
		lid = d.LID
	default:
		return
	}
	b.add(lid)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.lids[lid] {
		return // a scan has taken it
	}
	select {
	case b.news <- struct{}{}:
	default: // a signal is pending
	}
}

// add adds LIDs for the next scan without triggering one.
func (b *trapBox) add(lids ...ident.LID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lids == nil {
		b.lids = map[ident.LID]bool{}
	}
	for _, lid := range lids {
		b.lids[lid] = true
	}
}

// empty removes and returns the LIDs, the lowest first. It also clears the signal.
func (b *trapBox) empty() []ident.LID {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-b.news:
	default:
	}
	lids := slices.Sorted(maps.Keys(b.lids))
	clear(b.lids)
	return lids
}
