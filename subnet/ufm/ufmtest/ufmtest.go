// Package ufmtest is a fake UFM for tests: a server that follows the REST API guide.
package ufmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Token is the access token of the server.
const Token = "c2VjcmV0LXRva2Vu"

// Server answers as documented in the REST API guide of UFM: P_Keys in hexadecimal, GUIDs without prefix, a partition's
// limits and service level separate from its members. Access its fields in With.
type Server struct {
	mu sync.Mutex

	Partitions map[string]*Partition // by P_Key, as "0x10"
	Log        []string              // "METHOD /path" of each request
	// Broken is called before the n-th request; a status other than 0 is the answer, and done reports whether the
	// request is executed nevertheless.
	Broken func(n int, r *http.Request) (status int, done bool)
	Stuck  bool // changes of service levels are confirmed but dropped
}

// Partition is a partition of the server.
type Partition struct {
	IPoIB   bool
	SL      int
	MTU     int
	Rate    float64
	Members map[string]string // membership by GUID
}

// New returns a server with the default partition.
func New() *Server {
	return &Server{Partitions: map[string]*Partition{"0x7fff": {IPoIB: true, MTU: 2, Rate: 2.5, Members: map[string]string{"0002c90300000001": "full"}}}}
}

// Start serves by TLS until the test ends. The client trusts the server.
func (s *Server) Start(t testing.TB) (address string, client *http.Client) {
	t.Helper()
	h := httptest.NewTLSServer(s)
	t.Cleanup(h.Close)
	return h.URL, h.Client()
}

var _ http.Handler = (*Server)(nil)

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "Basic "+Token {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/ufmRestV3")
	if !ok {
		http.NotFound(w, r)
		return
	}
	s.Log = append(s.Log, r.Method+" "+path)
	if s.Broken != nil {
		if status, done := s.Broken(len(s.Log), r); status != 0 {
			if done {
				s.serve(httptest.NewRecorder(), r, path)
			}
			w.WriteHeader(status)
			_, _ = w.Write([]byte("Resource is busy"))
			return
		}
	}
	s.serve(w, r, path)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, path string) {
	var body struct {
		PKey         string   `json:"pkey"`
		Index0       bool     `json:"index0"`
		IPoIB        *bool    `json:"ip_over_ib"`
		ServiceLevel int      `json:"service_level"`
		MTULimit     *int     `json:"mtu_limit"`
		RateLimit    *float64 `json:"rate_limit"`
		Membership   string   `json:"membership"`
		GUIDs        []string `json:"guids"`
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil || r.Header.Get("Content-Type") != "application/json" {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		if k, err := strconv.ParseUint(body.PKey, 0, 16); err != nil || k == 0 || k >= 0x7fff {
			http.Error(w, "pkey must be between 0x0 and 0x7fff exclusive", http.StatusBadRequest)
			return
		}
	}
	p := s.Partitions[body.PKey]
	switch route := r.Method + " " + path; {
	case route == "GET /resources/pkeys":
		s.list(w, r)
	case route == "POST /resources/pkeys/add":
		s.Partitions[body.PKey] = &Partition{IPoIB: body.IPoIB == nil || *body.IPoIB, SL: body.ServiceLevel, MTU: 2, Rate: 2.5, Members: map[string]string{}}
	case route == "PUT /resources/pkeys/qos_conf" && p != nil && body.MTULimit != nil && body.RateLimit != nil:
		if !s.Stuck {
			p.SL, p.MTU, p.Rate = body.ServiceLevel, *body.MTULimit, *body.RateLimit
		}
	case route == "POST /resources/pkeys" && p != nil:
		for _, g := range body.GUIDs {
			if len(g) != 16 {
				http.Error(w, fmt.Sprintf("illegal guid %s", g), http.StatusBadRequest)
				return
			}
			p.Members[g] = body.Membership
		}
	case route == "POST /actions/remove_guids_from_pkey" && p != nil:
		for _, g := range body.GUIDs {
			delete(p.Members, g)
		}
	case r.Method == http.MethodDelete && s.Partitions[strings.TrimPrefix(path, "/resources/pkeys/")] != nil:
		delete(s.Partitions, strings.TrimPrefix(path, "/resources/pkeys/"))
	default:
		http.Error(w, "Not Found", http.StatusNotFound)
	}
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("guids_data") != "true" || q.Get("qos_conf") != "true" {
		_ = json.NewEncoder(w).Encode(slices.Sorted(maps.Keys(s.Partitions)))
		return
	}
	type guid struct {
		GUID       string `json:"guid"`
		Membership string `json:"membership"`
		Index0     bool   `json:"index0"`
	}
	out := map[string]any{}
	for k, p := range s.Partitions {
		guids := []guid{}
		for g, m := range p.Members {
			guids = append(guids, guid{GUID: g, Membership: m})
		}
		out[k] = map[string]any{
			"partition": "api_pkey_" + k, "ip_over_ib": p.IPoIB, "guids": guids,
			"qos_conf": map[string]any{"mtu_limit": p.MTU, "service_level": p.SL, "rate_limit": p.Rate},
		}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// With changes the server's state.
func (s *Server) With(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}
