package embedded

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"

	"fairlane/service/series"
)

func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	scope := series.Scope{Tenants: []series.TenantRef{{Fabric: "lab", Tenant: "red"}}}
	queries := []remoteQuery{
		{mint: math.MinInt64, maxt: math.MaxInt64, only: "series", matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchNotRegexp, "a", "b.*"), labels.MustNewMatcher(labels.MatchEqual, "c", "")}},
		{mint: -1, maxt: 5, matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "a", "ü"), labels.MustNewMatcher(labels.MatchNotEqual, "c", "d")}},
	}
	b, err := encodeRead(queries, &scope)
	if err != nil {
		t.Fatal(err)
	}
	got, s, err := decodeRead(b)
	if err != nil || !reflect.DeepEqual(s, scope) || len(got) != len(queries) {
		t.Fatalf("%v, %v, %v", got, s, err)
	}
	for i, q := range queries {
		if got[i].mint != q.mint || got[i].maxt != q.maxt || got[i].only != q.only || len(got[i].matchers) != len(q.matchers) {
			t.Errorf("%+v, want %+v", got[i], q)
		}
		for k, m := range q.matchers {
			if got[i].matchers[k].String() != m.String() {
				t.Errorf("%v, want %v", got[i].matchers[k], m)
			}
		}
	}
	want := remoteSeries{labels.FromStrings("__name__", "x", "tenant", "red"), []remoteSample{{-5, 1}, {0, 0}, {1 << 50, math.Inf(-1)}}}
	list, err := decodeAnswer(snappy.Encode(nil, appendBytes(nil, 1, appendSeries(nil, &want))))
	if err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], []remoteSeries{want}) {
		t.Errorf("%v, %v, want %v", list, err, want)
	}
}

// TestAnAnswerTakesNoMoreThanItsBound sends the shortest series and samples, which take 20 times as much room once they are read.
func TestAnAnswerTakesNoMoreThanItsBound(t *testing.T) {
	t.Parallel()
	const most, n = 1000, 1001
	for name, list := range map[string][]byte{
		"series":            bytes.Repeat(appendBytes(nil, 1, nil), n),
		"samples of one":    appendBytes(nil, 1, bytes.Repeat(appendBytes(nil, 2, nil), n)),
		"samples of others": bytes.Repeat(appendBytes(nil, 1, bytes.Repeat(appendBytes(nil, 2, nil), n/2)), 2),
	} {
		lists, err := decodeLists(appendBytes(nil, 1, list), most)
		if !errors.Is(err, errTooLarge) || len(lists) > 0 && (len(lists[0]) > most || len(lists[0]) > 0 && len(lists[0][0].samples) > most) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What another process sends is never trusted: no message crashes, and none takes more than its bound.
func FuzzMessages(f *testing.F) {
	b, err := encodeRead([]remoteQuery{{matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "a", "b")}}}, &series.Everything)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	s := remoteSeries{labels.FromStrings("a", "b"), []remoteSample{{1, 2}}}
	f.Add(snappy.Encode(nil, appendBytes(nil, 1, appendSeries(nil, &s))))
	f.Fuzz(func(t *testing.T, b []byte) {
		queries, _, err := decodeRead(b)
		if err == nil {
			for _, q := range queries {
				for _, m := range q.matchers {
					_ = m.Matches("x")
				}
			}
		}
		lists, err := decodeAnswer(b)
		if err == nil {
			q := newRemoteQuerier(nil, series.Scope{Fabrics: []string{"lab"}}, 0, 1)
			for _, s := range q.keep(lists, nil) {
				if s.labels.Get("fabric") != "lab" {
					t.Errorf("%v is not in the scope", s.labels)
				}
			}
		}
	})
}
