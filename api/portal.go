package api

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"fairlane/internal/phrase"
	"fairlane/web"
)

const portalRoot = "/portal/"

// servePortal serves the console and the portal, to any caller: their files hold nothing from this installation. What they
// show they request from the API, with the session of their user.
func (s *Server) servePortal(e *gin.Engine) {
	g := e.Group("", s.text, s.work)
	serve := func(pattern string, f gin.HandlerFunc) {
		g.GET(pattern, f)
		g.HEAD(pattern, f)
	}
	serve("/", func(c *gin.Context) { c.Redirect(http.StatusFound, portalRoot) })
	serve("/assets/*file", s.asset)
	for _, p := range web.Pages {
		f := func(c *gin.Context) { s.application(c, p) }
		serve("/"+string(p), f)
		serve("/"+string(p)+"/*route", f) // the application interprets the rest of the path
	}
}

// nonceBytes is the length of a nonce before its encoding.
const nonceBytes = 18

// application sends the page of an application, with a new nonce in the page and in its policy.
func (s *Server) application(c *gin.Context, p web.Page) {
	var b [nonceBytes]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	body, policy := s.portal.Render(p, base64.URLEncoding.EncodeToString(b[:]))
	h := c.Writer.Header() // Cache-Control: no-store is set for every answer
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	send(c, "text/html; charset=utf-8", body)
}

// asset sends a file that an application loads, compressed by the build where the client accepts it.
func (s *Server) asset(c *gin.Context) {
	a, ok := s.portal.Asset(strings.TrimPrefix(c.Request.URL.Path, "/"))
	if !ok {
		s.writeProblem(c, &problemError{code: "no-such-route", said: phrase.Of("problem.no-asset")})
		return
	}
	coding, tag := "", `"`+a.Tag+`"`
	for _, k := range []string{"br", "gzip"} {
		if a.Bodies[k] != nil && takes(c.GetHeader("Accept-Encoding"), k) {
			coding, tag = k, `"`+a.Tag+"-"+k+`"`
			break
		}
	}
	h := c.Writer.Header()
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if len(a.Bodies) > 1 {
		h.Set("Vary", "Accept-Encoding")
	}
	if a.Hashed {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache") // cached, and revalidated by ETag
		h.Set("ETag", tag)
		if c.GetHeader("If-None-Match") == tag {
			c.Status(http.StatusNotModified)
			c.Writer.WriteHeaderNow()
			return
		}
	}
	if coding != "" {
		h.Set("Content-Encoding", coding)
	}
	send(c, a.Type, a.Bodies[coding])
}

// send sends a body, or its length alone as the answer to HEAD.
func send(c *gin.Context, kind string, body []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body))) // removed if the body is compressed on the way
	c.Status(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		c.Writer.WriteHeaderNow()
		return
	}
	_, _ = c.Writer.Write(body) // the only possible error is that the client went away
}
