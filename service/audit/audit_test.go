package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlane/internal/testkit/zhtest"
)

// entry draws an entry's content, before it is chained.
func entry(t *rapid.T, name string) Entry {
	text := rapid.StringN(0, 12, 40)
	e := Entry{
		At:    time.Unix(rapid.Int64Range(0, 1<<32).Draw(t, "at"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")),
		Actor: text.Draw(t, "actor"), ActorKind: "user", Token: text.Draw(t, "token"), Addr: text.Draw(t, "addr"), RequestID: text.Draw(t, "request"),
		Fabric: text.Draw(t, "fabric"), Action: "tenant.updated", Object: text.Draw(t, "object"),
		Outcome: rapid.SampledFrom([]string{Done, Refused}).Draw(t, "outcome"), Detail: text.Draw(t, "detail"),
	}
	for _, part := range []*json.RawMessage{&e.Before, &e.After} {
		if rapid.Bool().Draw(t, name+" has JSON") {
			b, err := json.Marshal(map[string]string{text.Draw(t, "key"): text.Draw(t, "value")})
			if err != nil {
				t.Fatal(err)
			}
			*part = append(json.RawMessage("  "), b...)
		}
	}
	return e
}

func chain(t *rapid.T, least, most int) ([]Entry, Tail) {
	var tail Tail
	var list []Entry
	for i := range rapid.IntRange(least, most).Draw(t, "entries") {
		e, err := tail.Append(entry(t, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		tail = Tail{e.Seq, e.Hash}
		list = append(list, e)
	}
	return list, tail
}

// verify runs a verifier over the entries.
func verify(v Verifier, list []Entry, tail Tail) (Report, error) {
	for _, e := range list {
		if err := v.Add(e); err != nil {
			return Report{}, err
		}
	}
	return v.Finish(tail)
}

func TestStoredChainsVerify(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, tail := chain(t, 0, 8)
		var lines bytes.Buffer
		for _, e := range list {
			if err := json.NewEncoder(&lines).Encode(e); err != nil {
				t.Fatal(err)
			}
		}
		var read []Entry
		for dec := json.NewDecoder(&lines); dec.More(); {
			var e Entry
			if err := dec.Decode(&e); err != nil {
				t.Fatal(err)
			}
			read = append(read, e)
		}
		if d := cmp.Diff(list, read); d != "" {
			t.Errorf("entries changed in the round trip (-want +got):\n%s", d)
		}
		r, err := verify(Verifier{Expect: tail}, read, tail)
		if err != nil || r.Entries != int64(len(list)) || r.Tail != tail {
			t.Errorf("report is %+v, %v", r, err)
		}
	})
}

// tamper changes a chain in one of the ways open to an attacker with write access to the database.
func tamper(t *rapid.T, list []Entry) (changed []Entry, how string) {
	list = slices.Clone(list)
	i := rapid.IntRange(0, len(list)-1).Draw(t, "which")
	e := &list[i]
	switch how = rapid.SampledFrom([]string{"remove", "swap", "repeat", "field", "resum"}).Draw(t, "how"); how {
	case "remove":
		return slices.Delete(list, i, i+1), how
	case "swap":
		j := rapid.IntRange(0, len(list)-1).Filter(func(j int) bool { return j != i }).Draw(t, "with")
		list[i], list[j] = list[j], list[i]
		if rapid.Bool().Draw(t, "keep numbers") { // contents are exchanged, numbers stay in order
			list[i].Seq, list[j].Seq = list[j].Seq, list[i].Seq
		}
		return list, how
	case "repeat":
		return slices.Insert(list, i, *e), how
	}
	switch rapid.IntRange(0, 12).Draw(t, "field") {
	case 0:
		e.At = e.At.Add(time.Microsecond)
	case 1:
		e.Actor += "x"
	case 2:
		e.ActorKind += "x"
	case 3:
		e.Addr += "x"
	case 4:
		e.RequestID += "x"
	case 5:
		e.Fabric += "x"
	case 6:
		e.Action += "x"
	case 7:
		e.Object += "x"
	case 8:
		e.Outcome += "x"
	case 9:
		e.Detail += "x"
	case 10:
		e.Before = append(slices.Clone(e.Before), ' ')
	case 11:
		e.After = append(slices.Clone(e.After), ' ')
	case 12:
		e.Token += "x"
	}
	if how == "resum" { // the forger recomputes the hash of this entry, but no later one
		e.Hash = e.Sum()
	}
	return list, how
}

func TestChangedRemovedAndMovedEntriesAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, tail := chain(t, 2, 8)
		bad, how := tamper(t, list)
		_, err := verify(Verifier{}, bad, tail)
		var named *BadError
		if !errors.As(err, &named) {
			t.Fatalf("%s was not found: %v", how, err)
		}
		first := 0
		for first < len(bad) && first < len(list) && cmp.Equal(bad[first], list[first]) {
			first++
		}
		// A recomputed hash is detected only at the next entry, or at the tail.
		want := int64(first + 1)
		// A chain that begins after number 1 may have been pruned: this is checked last, after all later faults.
		if bad[0].Seq == list[0].Seq && named.Seq != want && !(how == "resum" && named.Seq == min(want+1, int64(len(list)))) {
			t.Errorf("%s: entry %d is named (%v), the first bad one is %d", how, named.Seq, err, want)
		}
	})
}

func TestARecordedTailDetectsARewrittenChain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, _ := chain(t, 1, 6)
		remembered := list[rapid.IntRange(0, len(list)-1).Draw(t, "remembered")]
		from := rapid.IntRange(0, int(remembered.Seq)-1).Draw(t, "from")
		tail := Tail{}
		forged := slices.Clone(list)
		for i := range forged {
			if i == from {
				forged[i].Actor += "x"
			}
			var err error
			if forged[i], err = tail.Append(forged[i]); err != nil {
				t.Fatal(err)
			}
			tail = Tail{forged[i].Seq, forged[i].Hash}
		}
		if _, err := verify(Verifier{}, forged, tail); err != nil {
			t.Fatalf("the forgery should hold together: %v", err)
		}
		var named *BadError
		if _, err := verify(Verifier{Expect: Tail{remembered.Seq, remembered.Hash}}, forged, tail); !errors.As(err, &named) {
			t.Errorf("the forgery passed: %v", err)
		}
	})
}

// prune removes the first n entries and appends the entry that records it.
func prune(t *testing.T, list []Entry, n int) ([]Entry, Tail) {
	t.Helper()
	last := list[len(list)-1]
	after, err := json.Marshal(Pruned{Through: Tail{list[n-1].Seq, list[n-1].Hash}, Removed: int64(n)})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Tail{last.Seq, last.Hash}.Append(Entry{Action: ActionPruned, After: after})
	if err != nil {
		t.Fatal(err)
	}
	return append(slices.Clone(list[n:]), e), Tail{e.Seq, e.Hash}
}

func plain(t *testing.T, n int) ([]Entry, Tail) {
	t.Helper()
	var tail Tail
	var list []Entry
	for range n {
		e, err := tail.Append(Entry{Action: "x", At: time.Unix(1, 999)})
		if err != nil {
			t.Fatal(err)
		}
		tail = Tail{e.Seq, e.Hash}
		list = append(list, e)
	}
	return list, tail
}

func TestPruning(t *testing.T) {
	t.Parallel()
	ten, end := plain(t, 10)
	once, onceEnd := prune(t, ten, 4)       // 5..11
	twice, twiceEnd := prune(t, once, 3)    // 8..12, the entry of the first pruning is 11
	thrice, thriceEnd := prune(t, twice, 5) // 13 alone, which records 12
	remembered := Tail{ten[2].Seq, ten[2].Hash}
	for name, c := range map[string]struct {
		list   []Entry
		tail   Tail
		expect Tail
		bad    int64 // 0: verifies
	}{
		"an empty log":                              {nil, Tail{}, Tail{}, 0},
		"whole":                                     {ten, end, remembered, 0},
		"pruned once":                               {once, onceEnd, Tail{}, 0},
		"pruned twice":                              {twice, twiceEnd, Tail{}, 0},
		"pruned to its last entry":                  {thrice, thriceEnd, Tail{}, 0},
		"what was remembered was pruned":            {once, onceEnd, remembered, 0},
		"the beginning is cut without a word":       {ten[3:], end, Tail{}, 1},
		"more is cut than was pruned":               {once[1:], onceEnd, Tail{}, 5},
		"what was pruned is back":                   {append(slices.Clone(ten[3:]), once[6:]...), onceEnd, Tail{}, 4},
		"the end is cut":                            {ten[:8], end, Tail{}, 9},
		"all entries removed":                       {nil, end, Tail{}, 1},
		"the end on record is another":              {ten, Tail{10, Hash{1}}, Tail{}, 10},
		"the log is behind what was remembered":     {ten[:2], Tail{ten[1].Seq, ten[1].Hash}, end, 3},
		"the log was begun anew after being pruned": {thrice[:0], Tail{}, end, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := verify(Verifier{Expect: c.expect}, c.list, c.tail)
			var named *BadError
			switch {
			case c.bad == 0 && err != nil:
				t.Error(err)
			case c.bad == 0 && r.Entries != int64(len(c.list)):
				t.Errorf("report is %+v", r)
			case c.bad != 0 && (!errors.As(err, &named) || named.Seq != c.bad):
				t.Errorf("error is %v, want one that names entry %d", err, c.bad)
			case c.bad != 0:
				zhtest.Error(t, name, err)
			}
		})
	}
}

func TestTheCanonicalEncodingIsStable(t *testing.T) {
	t.Parallel()
	e, err := Tail{Seq: 6, Hash: Hash{1, 2}}.Append(Entry{
		At: time.Date(2026, 11, 21, 10, 0, 0, 1999, time.UTC), Actor: "ada", ActorKind: "user", Addr: "127.0.0.1", RequestID: "r1", Fabric: "lab",
		Action: "tenant.updated", Object: "red", Outcome: Done, Detail: "d", Before: json.RawMessage(`{ "weight": 1 }`), After: json.RawMessage(`{"weight":"<2>"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	// Later releases must verify stored chains: a change of this value invalidates every stored log.
	const want = "ba896d8d"
	if got := e.Hash.String(); !strings.HasPrefix(got, want) {
		t.Errorf("hash is %s, want one that begins with %s", got, want)
	}
	e.Token = "laptop"
	if got := e.Sum().String(); !strings.HasPrefix(got, "9533c980") {
		t.Errorf("with a token the hash is %s, want one that begins with %s", got, "9533c980")
	}
	if e.Seq != 7 || e.At.Nanosecond() != 1000 || string(e.Before) != `{"weight":1}` || string(e.After) != `{"weight":"\u003c2\u003e"}` {
		t.Errorf("entry is %+v", e)
	}
}

func TestDifferentEntriesHaveDifferentEncodings(t *testing.T) {
	t.Parallel()
	a := Entry{Actor: "ab", ActorKind: "c"}
	b := Entry{Actor: "a", ActorKind: "bc"}
	if bytes.Equal(a.Canonical(), b.Canonical()) {
		t.Error("a letter moved from one field to the next and the encoding is the same")
	}
	c := a
	c.Token = "laptop"
	d := c
	d.Token = "phone"
	if bytes.Equal(a.Canonical(), c.Canonical()) || bytes.Equal(c.Canonical(), d.Canonical()) {
		t.Error("the token does not count")
	}
}

func TestParseTailAndHash(t *testing.T) {
	t.Parallel()
	want := Tail{42, Hash{0xab, 31: 1}}
	if got, err := ParseTail(want.String()); err != nil || got != want {
		t.Errorf("read back %v, %v", got, err)
	}
	for _, bad := range []string{"", "1", "1:", ":" + want.Hash.String(), "-1:" + want.Hash.String(), "1x:" + want.Hash.String(), "1:" + strings.Repeat("g", 64), "01:" + want.Hash.String()} {
		if got, err := ParseTail(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func TestInvalidJSONIsRejected(t *testing.T) {
	t.Parallel()
	if _, err := (Tail{}).Append(Entry{After: json.RawMessage("{")}); err == nil {
		t.Error("an entry with broken JSON was chained")
	}
}

func FuzzParseTail(f *testing.F) {
	f.Add("1:" + strings.Repeat("0", 64))
	f.Add("x:y")
	f.Fuzz(func(t *testing.T, s string) {
		tail, err := ParseTail(s)
		if err == nil && !strings.EqualFold(tail.String(), s) {
			t.Errorf("%q is read as %s", s, tail)
		}
	})
}
