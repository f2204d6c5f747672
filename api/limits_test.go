package api

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/identity"
)

func TestThePageOfTheAPIHasTheLimits(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	s := HTTPServer(http.NotFoundHandler())
	sp := parsed(t)
	for what, limit := range map[string]string{
		"body with whole tables (tenants, flows, scenarios)": fmt.Sprintf("%d MiB", MaxBody>>20),
		"other bodies":                                         fmt.Sprintf("%d KiB", smallBody>>10),
		"nesting of objects and lists":                         fmt.Sprintf("%d deep", maxDepth),
		"request line and headers":                             fmt.Sprintf("%d KiB", s.MaxHeaderBytes>>10),
		"rows of a page":                                       fmt.Sprint(*sp.doc.Components.Parameters["Limit"].Value.Schema.Value.Max),
		"response stored with an idempotency key":              fmt.Sprintf("%d MiB", maxKept>>20),
		"time of a request":                                    fmt.Sprintf("%d s", requestTimeout/time.Second),
		"time of a request that compiles, or accesses devices": fmt.Sprintf("%d min", slowTimeout/time.Minute),
		"concurrent reads":                                     row(reading),
		"concurrent changes":                                   row(writing),
		"concurrent requests that compile, or access devices":  row(lengthy),
		"concurrent loads of pages and files of the portal and the documentation": row(paging),
		"concurrent event streams":                              row(streaming),
		"bodies in transfer, or whose request waits for a slot": row(sending),
		"MiB of bodies in memory":                               row(mib(sent)),
	} {
		if row := fmt.Sprintf("| %s | %s |\n", what, limit); !strings.Contains(string(text), row) {
			t.Errorf("docs/api.md lacks the row %q", row)
		}
	}
	prose := strings.Join(strings.Fields(string(text)), " ") // independent of line breaks
	for _, words := range []string{
		fmt.Sprintf("Keys are kept for %d hours", control.IdempotencyTTL/time.Hour),
		fmt.Sprintf("after %d days unless the request states another time", identity.DefaultTokenLife/(24*time.Hour)),
		fmt.Sprintf("within %d s plus its length at %d KiB a second", bodyGrace/time.Second, minRate>>10),
		fmt.Sprintf("a minute at most, or %d s for a sign-in", unknownBodyTime/time.Second),
		fmt.Sprintf("waits %d s for a slot", patience/time.Second),
		fmt.Sprintf("The client has %d s", answerGrace/time.Second),
		fmt.Sprintf("A comment every %d seconds", heartbeat/time.Second),
	} {
		if !strings.Contains(prose, words) {
			t.Errorf("docs/api.md does not say %q", words)
		}
	}
	if s.ReadTimeout < bodyTime {
		t.Errorf("the connection is read for %v, less than the %v of a body", s.ReadTimeout, bodyTime)
	}
}

// row returns the columns of one kind in the table of concurrent limits.
func row(s shares) string {
	var cells []string
	for _, n := range []int{s.all, s.callers, s.tenants, s.tenant, s.own, s.strangers, s.source} {
		cell := "-"
		if n > 0 {
			cell = fmt.Sprint(n)
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, " | ")
}

func mib(s shares) shares {
	for _, n := range []*int{&s.all, &s.callers, &s.tenants, &s.tenant, &s.own, &s.strangers, &s.source} {
		*n >>= 20
	}
	return s
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("POST", "/fabrics", `{"name":"`+strings.Repeat("x", MaxBody)+`"}`).want(413, "body-too-large")
}
