package ufm_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/subnet/ident"
	"fairlane/subnet/ufm"
)

// For any answer of UFM the resulting partitions are valid: no duplicates, and legal P_Keys and service levels. The
// same answer gives the same result.
func FuzzPartitions(f *testing.F) {
	f.Add(`{"0x7fff":{"partition":"management","ip_over_ib":true,"guids":[{"guid":"0002c9030005f34a","membership":"full","index0":true}]}}`)
	f.Add(`{"0x0010":{"qos_conf":{"mtu_limit":2,"service_level":3,"rate_limit":2.5},"guids":[{"guid":"0x1","membership":"limited"}]},"0x8011":{}}`)
	f.Add(`{"0x1":{},"0x8001":{}}`)
	f.Add(`{"0x10000":{"guids":[{"guid":"-1"}]}}`)
	f.Add(`{"0":{"guids":[{"guid":"0","membership":"limited"}]}}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, answer string) {
		h := roundTripper(func(r *http.Request) *http.Response {
			w := httptest.NewRecorder()
			_, _ = w.WriteString(answer)
			return w.Result()
		})
		c, err := ufm.New(ufm.Options{URL: "https://ufm.example", Token: "t", HTTP: &http.Client{Transport: h}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Partitions(t.Context())
		again, errAgain := c.Partitions(t.Context())
		if (err == nil) != (errAgain == nil) || !cmp.Equal(got, again, ignore) {
			t.Fatalf("%v, then %v (%v, %v)", got, again, err, errAgain)
		}
		if err != nil {
			return
		}
		for i, p := range got {
			if i > 0 && p.PKey <= got[i-1].PKey || p.PKey != p.PKey.Base() || p.PKey == 0 || p.SL >= ident.NumSLs {
				t.Errorf("partition %+v after %d others", p, i)
			}
			seen := map[ident.GUID]bool{}
			for _, m := range p.Members {
				if seen[m.Port] || m.Port == 0 {
					t.Errorf("partition %s has member %s twice, or an invalid member", p.PKey, m.Port)
				}
				seen[m.Port] = true
			}
		}
	})
}

type roundTripper func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
