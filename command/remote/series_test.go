package remote

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The service answers in Prometheus's form; the command prints a row for each series.
func TestResultsOfQueriesAreTables(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"vector": `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"m","tenant":"re\"d","fabric":"lab"},"value":[1,"49990000000"]},{"metric":{},"value":[1,"NaN"]}]},"warnings":["odd"]}`,
		"matrix": `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"m"},"values":[[1,"2"],[2,"1"],[3,"4"]]},{"metric":{"a":"b"},"values":[]}]}}`,
		"scalar": `{"status":"success","data":{"resultType":"scalar","result":[1,"2.5"]}}`,
		"string": `{"status":"success","data":{"resultType":"string","result":[1,"text"]}}`,
		"sum(":   `{"status":"error","errorType":"bad_data","error":"bad query: 1:5"}`,
		"off":    `{"status":"error","errorType":"unavailable","error":"none"}`,
		"away":   `{"status":"error","errorType":"unavailable","error":"no connection"}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := answers[r.FormValue("query")]
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(text, "bad_data"):
			w.WriteHeader(http.StatusBadRequest)
		case strings.Contains(text, "none"):
			w.WriteHeader(http.StatusNotFound)
		case strings.Contains(text, "unavailable"):
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct{ line, out, words string }{
		{"series query vector", "SERIES VALUE\nm{fabric=\"lab\",tenant=\"re\\\"d\"} 4.999e+10\n{} NaN", "warning: odd"},
		{"series query matrix --since 1h", "SERIES SAMPLES FIRST MIN MAX LAST\nm 3 2 1 4 4\n{a=\"b\"} 0 - - - -", ""},
		{"series query scalar", "SERIES VALUE\nscalar 2.5", ""},
		{"series query string", "SERIES VALUE\nstring text", ""},
		{"series query scalar -o json", `{ "resultType": "scalar", "result": [ 1, "2.5" ] }`, ""},
		{"series query sum(", "", "bad query: 1:5"},
		{"series query off", "", "this service stores no time series"},
		{"series query away", "", "the time series server does not answer"},
		{"series query scalar --at noon", "", `--at "noon"`},
		{"series query scalar --since 1h --step 0s", "", "--step 0s: want at least 1ms"},
	} {
		out, words := runLine(t, server.URL, c.line)
		if got := strings.Join(strings.Fields(out), " "); got != strings.Join(strings.Fields(c.out), " ") || !strings.Contains(words, c.words) || c.words == "" && words != "" {
			t.Errorf("%s: printed %q and %q, want %q and %q", c.line, got, words, c.out, c.words)
		}
	}
}

// runLine runs a command against a service and returns what it prints, and what it says or returns as an error.
func runLine(t *testing.T, url, line string) (out, words string) {
	t.Helper()
	env := map[string]string{"FAIRLANE_URL": url, "FAIRLANE_TOKEN": "t", "FAIRLANE_CREDENTIALS": t.TempDir() + "/credentials"}
	cmd, printed, said := asks(env, strings.Fields(line)...)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		return printed.String(), said.String() + err.Error()
	}
	return printed.String(), said.String()
}
