package api

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"fairlane/api/reference"
	"fairlane/internal/phrase"
)

// servePages serves the pages that explain this API, to any caller: their content is from the source, and nothing from
// this installation. Problem documents link to them, also those of refused credentials.
func (s *Server) servePages(e *gin.Engine) {
	pages := e.Group(reference.Root, s.text, s.work)
	for _, pattern := range []string{"", "/*page"} {
		pages.GET(pattern, s.page)
		pages.HEAD(pattern, s.page)
	}
}

func (s *Server) page(c *gin.Context) {
	p, ok, err := s.site.Find(c.Request.URL.Path, reference.Language(c.Request))
	if err != nil {
		s.writeProblem(c, err)
		return
	}
	if !ok {
		s.writeProblem(c, &problemError{code: "no-such-route", said: phrase.Of("problem.no-page", "root", reference.Root)})
		return
	}
	h := c.Writer.Header()
	h.Set("Content-Security-Policy", reference.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache") // cached, and revalidated by ETag
	h.Set("Vary", "Accept-Language")
	h.Set("ETag", p.ETag)
	if c.GetHeader("If-None-Match") == p.ETag {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return
	}
	send(c, p.Type, p.Body)
}
