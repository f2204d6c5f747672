package app

import (
	"net/http"
	"net/http/pprof"

	"fairlane/service/obs"
)

// operationsHandler serves the operations listener: metrics, and profiles behind a guard, or without a guard not at
// all.
func operationsHandler(m *obs.Metrics, guard func(http.Handler) http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("Fairlane operations: /metrics\n")) // the client may have disconnected
	})
	if guard != nil {
		mux.Handle("/debug/pprof/", guard(profiles()))
	}
	return mux
}

// profiles serves what net/http/pprof has.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
