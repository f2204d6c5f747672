package silence

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/zhtest"
	"fairlane/service/series"
)

func parse(t testing.TB, texts ...string) Matchers {
	t.Helper()
	m, err := ParseAll(texts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMatchersAcceptAlerts(t *testing.T) {
	t.Parallel()
	a := series.Alert{Name: "ShareError", Labels: []series.Label{{Name: "fabric", Value: "lab"}, {Name: "tenant", Value: "a\nb"}}}
	for _, c := range []struct {
		matchers string // separated by blanks
		want     bool
	}{
		{"alertname=ShareError", true}, {"alertname=Share", false}, {"alertname=~Share", false}, {"alertname=~Share.*", true}, {"alertname=~X|Share.*", true},
		{"fabric=lab tenant!=red", true}, {"fabric=lab tenant=red", false}, {"fabric!~l.. alertname=ShareError", false}, {"fabric!~l alertname=ShareError", true},
		{"tenant=~a.b", true}, {`tenant="a\nb"`, true}, {"fabric=lab link=", true}, {"fabric=lab link!=", false}, {"fabric=lab link=~.*", true}, {"fabric=lab link=~.+", false},
		{"fabric=~LAB", false}, {"fabric=~(?i)LAB", true},
	} {
		if got := parse(t, strings.Fields(c.matchers)...).Match(&a); got != c.want {
			t.Errorf("%s: %v", c.matchers, got)
		}
	}
	if (Matchers{}).Match(&a) {
		t.Error("no matchers match")
	}
}

func TestInvalidMatchersAreRejected(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "lab", "=lab", "fa bric=lab", "1=x", "fabric!lab", `fabric="lab`, `fabric="a"b`, "fabric=~(", "fabric=~)(", "fabric=~a{2000}", "fabric=\xff", "fabric=a\x00b",
		`fabric="\x00"`, `fabric="\xff"`, "a=" + strings.Repeat("x", MaxMatcher),
	} {
		_, err := Parse(bad)
		if err == nil {
			t.Errorf("%q is taken", bad)
			continue
		}
		zhtest.Error(t, fmt.Sprintf("%.40q", bad), err, "LABEL", "alertname", "Share")
	}
	for _, bad := range [][]string{nil, {"fabric=~.*"}, {"fabric!=lab"}, {"fabric="}, make([]string, MaxMatchers+1)} {
		_, err := ParseAll(bad)
		if err == nil {
			t.Errorf("%q are taken", bad)
			continue
		}
		zhtest.Error(t, fmt.Sprint(bad), err)
	}
}

func TestSilencesActInTheirTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	s := Silence{Matchers: parse(t, "alertname=A"), StartsAt: now, EndsAt: now.Add(time.Hour)}
	for offset, want := range map[time.Duration]State{-1: Pending, 0: Active, time.Hour - 1: Active, time.Hour: Expired} {
		if got := s.State(now.Add(offset)); got != want {
			t.Errorf("%v: %s", offset, got)
		}
		if got := s.Mutes(&series.Alert{Name: "A"}, now.Add(offset)); got != (want == Active) {
			t.Errorf("%v: mutes is %v", offset, got)
		}
	}
	if s.Mutes(&series.Alert{Name: "B"}, now) {
		t.Error("another alert is muted")
	}
}

func FuzzMatcher(f *testing.F) {
	for _, s := range []string{"fabric=lab", `alertname =~ "Share.*"`, "a!~b|c", `a!="\u00e4\n"`, "a=~(?i)x", "a==b", "a=~=~", "a=~(?#", `a=~\Qx`, `a=~x\`, "a=" + strings.Repeat("x", MaxMatcher-1), "a=b" + strings.Repeat(`"`, MaxMatcher-2)} {
		f.Add(s, "lab")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		m, err := Parse(text)
		if err != nil {
			return
		}
		quoted := m.String()
		again, err := Parse(quoted)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, quoted, err)
		}
		if d := cmp.Diff([]string{m.Name, string(m.Op), m.Value}, []string{again.Name, string(again.Op), again.Value}); d != "" {
			t.Errorf("%q became %q:\n%s", text, quoted, d)
		}
		if m.matches(value) != again.matches(value) {
			t.Errorf("%q and %q differ about %q", text, quoted, value)
		}
		opposite := m
		opposite.Op = map[Op]Op{OpEqual: OpNotEqual, OpNotEqual: OpEqual, OpRegexp: OpNotRegexp, OpNotRegexp: OpRegexp}[m.Op]
		if m.matches(value) == opposite.matches(value) {
			t.Errorf("%q and its opposite agree about %q", text, value)
		}
	})
}
