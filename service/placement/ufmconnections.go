package placement

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync"
	"time"

	"fairlane/service/placement/smfile"
	"fairlane/subnet/ufm"
)

// ufmIdle is how long an unused connection to UFM stays open: longer than most pauses between requests of a rollout.
const ufmIdle = time.Minute

// newUFMConnections returns an HTTP client that trusts the given authorities; nil means those of the system.
func newUFMConnections(authorities *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, Proxy: http.ProxyFromEnvironment, IdleConnTimeout: ufmIdle,
	}}
}

// ufmConnections keeps the HTTP client of each fabric whose subnet manager is UFM's, so that operations share
// connections. The zero value is empty. It is safe for concurrent use.
type ufmConnections struct {
	mu   sync.Mutex
	kept map[string]keptConnections // by fabric
}

// keptConnections is an HTTP client with the authorities that it trusts.
type keptConnections struct {
	authorities *x509.CertPool
	client      *http.Client
}

// open is UFMClient on the connections kept for a fabric. It reads the files of credentials and authorities each time,
// since they may change. Connections opened with other authorities are closed once they are idle.
func (c *ufmConnections) open(fabric string, u *smfile.UFM) (*ufm.Client, error) {
	return ufmClient(u, func(authorities *x509.CertPool) *http.Client {
		c.mu.Lock()
		defer c.mu.Unlock()
		k, ok := c.kept[fabric]
		if ok && k.authorities.Equal(authorities) {
			return k.client
		}
		if ok {
			k.client.CloseIdleConnections()
		}
		if c.kept == nil {
			c.kept = map[string]keptConnections{}
		}
		c.kept[fabric] = keptConnections{authorities, newUFMConnections(authorities)}
		return c.kept[fabric].client
	})
}
