package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// perLeaf is the number of hosts on each leaf switch, spines the number of spine switches.
const perLeaf, spines = 40, 4

// fabricFile returns the fabric file of a leaf-spine fabric with the given number of hosts.
func fabricFile(hosts int) string {
	var nodes, links strings.Builder
	leaves := (hosts + perLeaf - 1) / perLeaf
	for s := range spines {
		fmt.Fprintf(&nodes, "  - {name: spine%d, kind: switch, ports: %d}\n", s+1, leaves)
	}
	for l := range leaves {
		fmt.Fprintf(&nodes, "  - {name: leaf%d, kind: switch, ports: %d}\n", l+1, perLeaf+spines)
		for s := range spines {
			fmt.Fprintf(&links, "  - {a: \"leaf%d:%d\", b: \"spine%d:%d\", rate: 100Gbit/s}\n", l+1, perLeaf+s+1, s+1, l+1)
		}
	}
	for h := range hosts {
		fmt.Fprintf(&nodes, "  - {name: %s, kind: host}\n", host(h))
		fmt.Fprintf(&links, "  - {a: \"%s:1\", b: \"leaf%d:%d\", rate: 100Gbit/s}\n", host(h), h/perLeaf+1, h%perLeaf+1)
	}
	return "version: 1\nname: load\nnodes:\n" + nodes.String() + "links:\n" + links.String()
}

func host(n int) string { return fmt.Sprintf("host-%05d", n) }

func tenant(n int) string { return fmt.Sprintf("tenant-%05d", n) }

// service is a client of the API.
type service struct {
	o      *options
	client *http.Client
}

func (s *service) header() http.Header {
	return http.Header{"Authorization": {"Bearer " + s.o.token}, "Content-Type": {"application/json"}}
}

// send sends one request and decodes the answer into to, unless that is nil.
func (s *service) send(ctx context.Context, method, path string, body, to any) (int, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return 0, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.o.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	r.Header = s.header()
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err
	}
	if resp.StatusCode >= 300 {
		return resp.StatusCode, fmt.Errorf("%s %s: %d: %.300s", method, path, resp.StatusCode, answer)
	}
	if to == nil {
		return resp.StatusCode, nil
	}
	return resp.StatusCode, json.Unmarshal(answer, to)
}

// attachment and tenantBody are the parts of the contract's types that are needed here.
type attachment struct {
	Port string `json:"port"`
}

type tenantBody struct {
	Name        string       `json:"name,omitempty"`
	Weight      float64      `json:"weight"`
	Pkey        string       `json:"pkey"`
	Attachments []attachment `json:"attachments"`
}

// body returns the nth tenant, with its attachments spread over the fabric.
func (s *service) body(n int, weight float64) tenantBody {
	per := s.o.attachments / s.o.tenants
	t := tenantBody{Weight: weight, Pkey: fmt.Sprintf("0x%04x", 0x8001+n)}
	for i := range per {
		t.Attachments = append(t.Attachments, attachment{host((n*per + i*7) % s.o.hosts)})
	}
	return t
}

// fabricPath returns the fabric's path in the API.
func (s *service) fabricPath() string { return "/api/v1/fabrics/" + s.o.fabric }

// fill creates the missing tenants, 200 in each transaction.
func (s *service) fill(ctx context.Context) error {
	for first := 0; first < s.o.tenants; first += 200 {
		var set struct {
			Tenants []tenantBody `json:"tenants"`
		}
		for n := first; n < min(first+200, s.o.tenants); n++ {
			t := s.body(n, 1)
			t.Name = tenant(n)
			set.Tenants = append(set.Tenants, t)
		}
		if _, err := s.send(ctx, http.MethodPut, s.fabricPath()+"/tenants", set, nil); err != nil {
			return err
		}
	}
	return nil
}

// cursors reads the list of tenants once and returns the query of each page.
func (s *service) cursors(ctx context.Context) ([]string, error) {
	pages := []string{""}
	for {
		var page struct {
			NextCursor string `json:"next_cursor"`
		}
		if _, err := s.send(ctx, http.MethodGet, s.fabricPath()+"/tenants?limit=100"+pages[len(pages)-1], nil, &page); err != nil {
			return nil, err
		}
		if page.NextCursor == "" {
			return pages, nil
		}
		pages = append(pages, "&cursor="+page.NextCursor)
	}
}

// spread hashes a counter to an index below n, the same in each run.
func spread(k uint64, n int) int { return int((k * 2654435761) % uint64(n)) }

// lists alternates between pages of 100 tenants with their attachments and the attachments of single tenants.
func (s *service) lists(pages []string) vegeta.Targeter {
	var count atomic.Uint64
	return func(t *vegeta.Target) error {
		k := count.Add(1)
		t.Method, t.Header, t.Body = http.MethodGet, s.header(), nil
		if k%2 == 0 {
			t.URL = s.o.url + s.fabricPath() + "/tenants?limit=100" + pages[spread(k, len(pages))]
		} else {
			t.URL = s.o.url + s.fabricPath() + "/tenants/" + tenant(spread(k, s.o.tenants)) + "/attachments?limit=100"
		}
		return nil
	}
}

// writes changes the weights of tenants.
func (s *service) writes() vegeta.Targeter {
	var count atomic.Uint64
	return func(t *vegeta.Target) error {
		k := count.Add(1)
		n := spread(k, s.o.tenants)
		body, err := json.Marshal(s.body(n, float64(2+k%50)))
		if err != nil {
			return err
		}
		t.Method, t.Body, t.Header = http.MethodPut, body, s.header()
		t.Header.Set("If-Match", "*")
		t.URL = s.o.url + s.fabricPath() + "/tenants/" + tenant(n)
		return nil
	}
}
