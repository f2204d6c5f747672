package doctor

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"fairlane/internal/buildinfo"
	"fairlane/internal/phrase"
	"fairlane/service/control"
)

// Peer is another manager of the same store.
type Peer struct {
	Name string
	URL  string // of its API
}

const (
	mostPeers   = 16 // managers that one examination queries
	peerTimeout = 3 * time.Second
)

// peers queries the other managers for their versions, at the same time: those that do not answer must not use up the time of the others.
func (d *doctor) peers(ctx context.Context, list func(context.Context) ([]Peer, error), trust *tls.Config) {
	if list == nil {
		return
	}
	all, err := list(ctx)
	if err != nil {
		d.note("peer", "", control.DoctorFault, phrase.Of("doctor.peers-away", "error", err), phrase.Of("doctor.peers-away.do"))
		return
	}
	transport := &http.Transport{TLSClientConfig: trust}
	defer transport.CloseIdleConnections()
	client := &http.Client{Timeout: peerTimeout, Transport: transport}
	asked := all[:min(len(all), mostPeers)]
	versions, errs := make([]string, len(asked)), make([]error, len(asked))
	var wait sync.WaitGroup
	for i := range asked {
		wait.Go(func() { versions[i], errs[i] = versionOf(ctx, client, asked[i].URL) })
	}
	wait.Wait()
	for i, p := range asked {
		switch version, err := versions[i], errs[i]; {
		case err != nil:
			d.note("peer", p.Name, control.DoctorWarning, phrase.Of("doctor.peer-away", "error", err), phrase.Of("doctor.peer-away.do"))
		case version != buildinfo.Version():
			d.note("peer", p.Name, control.DoctorWarning, phrase.Of("doctor.peer-version", "theirs", version, "ours", buildinfo.Version()), phrase.Of("doctor.peer-version.do"))
		default:
			d.note("peer", p.Name, control.DoctorOK, phrase.Of("doctor.peer-right", "version", version))
		}
	}
	if more := len(all) - mostPeers; more > 0 {
		d.note("peer", "", control.DoctorUnknown, phrase.Of("doctor.peers-more", "n", more))
	}
}

// errNotFairlane means that the answer is none of the service's.
var errNotFairlane = errors.New("the answer has no version")

// versionOf returns the version that a service reports.
func versionOf(ctx context.Context, client *http.Client, url string) (string, error) {
	status, body, _, err := fetch(ctx, client, strings.TrimRight(url, "/")+"/api/v1/version")
	if err != nil {
		return "", err
	}
	var v struct {
		Version string `json:"version"`
	}
	if status != http.StatusOK {
		return "", fmt.Errorf("status %d", status)
	}
	if err := json.Unmarshal(body, &v); err != nil || v.Version == "" {
		return "", errNotFairlane
	}
	return v.Version, nil
}
