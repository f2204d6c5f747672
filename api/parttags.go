package api

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/tenancy"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// tagMatch returns the tag that a change of a part is based on, or control.AnyTag. A foreign tag matches nothing.
func tagMatch(h *gen.IfMatch) (string, error) {
	if h == nil || strings.TrimSpace(*h) == "" {
		_, err := ifMatch(h)
		return "", err
	}
	switch text := strings.TrimSpace(*h); text {
	case tenancy.AnyTag, `"` + tenancy.AnyTag + `"`: // a quoted "*" is a tag that matches nothing
		return text, nil
	default:
		return strings.Trim(text, `"`), nil
	}
}

func partTag(part any) string { return `"` + tenancy.Tag(part) + `"` }

// location returns the path of a new object from its names and numbers.
func location(words ...any) string {
	path := "/api/v1"
	for _, w := range words {
		path += "/" + url.PathEscape(fmt.Sprint(w))
	}
	return path
}

// parts lists parts of a tenant.
func parts[T any](s *Server, of func(control.Tenant) []T) func(context.Context, tenants.Domain, control.Page) ([]T, string, error) {
	return func(ctx context.Context, d tenants.Domain, p control.Page) ([]T, string, error) {
		t, err := s.control.Tenant(ctx, d.Fabric, d.Tenant)
		if err != nil {
			return nil, "", err
		}
		return control.SlicePage(of(t), p)
	}
}

func (s *Server) ListAttachments(ctx context.Context, r server.ListAttachmentsRequestObject) (server.ListAttachmentsResponseObject, error) {
	items, next, err := listed(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor,
		parts(s, func(t control.Tenant) []tenants.Attachment { return t.Attachments }), attachmentOut)
	if err == nil {
		err = s.nameAttachments(ctx, r.Fabric, attachmentsOfTenant{r.Tenant, items})
	}
	return server.ListAttachments200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) AddAttachment(ctx context.Context, r server.AddAttachmentRequestObject) (server.AddAttachmentResponseObject, error) {
	a, err := s.control.AddAttachment(ctx, r.Fabric, r.Tenant, tenancy.AttachmentInput{Port: r.Body.Port, SL: slIn(r.Body.SL), FeedOnly: deref(r.Body.FeedOnly)})
	if err != nil {
		return nil, err
	}
	out, err := s.namedAttachment(ctx, r.Fabric, r.Tenant, a)
	return server.AddAttachment201JSONResponse{Body: out, Headers: server.AddAttachment201ResponseHeaders{
		ETag: partTag(a), Location: location("fabrics", r.Fabric, "tenants", r.Tenant, "attachments", a.Port)}}, err
}

func (s *Server) GetAttachment(ctx context.Context, r server.GetAttachmentRequestObject) (server.GetAttachmentResponseObject, error) {
	a, err := s.control.Attachment(ctx, r.Fabric, r.Tenant, r.Port)
	if err != nil {
		return nil, err
	}
	out, err := s.namedAttachment(ctx, r.Fabric, r.Tenant, a)
	return server.GetAttachment200JSONResponse{Body: out, Headers: server.GetAttachment200ResponseHeaders{ETag: partTag(a)}}, err
}

func (s *Server) PutAttachment(ctx context.Context, r server.PutAttachmentRequestObject) (server.PutAttachmentResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	a, err := s.control.PutAttachment(ctx, r.Fabric, r.Tenant, r.Port, tag, slIn(r.Body.SL))
	if err != nil {
		return nil, err
	}
	out, err := s.namedAttachment(ctx, r.Fabric, r.Tenant, a)
	return server.PutAttachment200JSONResponse{Body: out, Headers: server.PutAttachment200ResponseHeaders{ETag: partTag(a)}}, err
}

func (s *Server) DeleteAttachment(ctx context.Context, r server.DeleteAttachmentRequestObject) (server.DeleteAttachmentResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.DeleteAttachment204Response{}, s.control.DeleteAttachment(ctx, r.Fabric, r.Tenant, r.Port, tag)
}

func (s *Server) ListClasses(ctx context.Context, r server.ListClassesRequestObject) (server.ListClassesResponseObject, error) {
	items, next, err := listed(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor,
		parts(s, func(t control.Tenant) []tenants.Class { return t.Classes }), classOut)
	return server.ListClasses200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) AddClass(ctx context.Context, r server.AddClassRequestObject) (server.AddClassResponseObject, error) {
	c, err := classIn("", r.Body.Name, r.Body.Weight)
	if err != nil {
		return nil, err
	}
	return server.AddClass201JSONResponse{Body: classOut(c), Headers: server.AddClass201ResponseHeaders{
		ETag: partTag(c), Location: location("fabrics", r.Fabric, "tenants", r.Tenant, "classes", c.Name)}}, s.control.AddClass(ctx, r.Fabric, r.Tenant, c)
}

func (s *Server) GetClass(ctx context.Context, r server.GetClassRequestObject) (server.GetClassResponseObject, error) {
	c, err := s.control.Class(ctx, r.Fabric, r.Tenant, r.Class)
	return server.GetClass200JSONResponse{Body: classOut(c), Headers: server.GetClass200ResponseHeaders{ETag: partTag(c)}}, err
}

func (s *Server) PutClass(ctx context.Context, r server.PutClassRequestObject) (server.PutClassResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	c, err := classIn("", r.Class, r.Body.Weight)
	if err != nil {
		return nil, err
	}
	return server.PutClass200JSONResponse{Body: classOut(c), Headers: server.PutClass200ResponseHeaders{ETag: partTag(c)}}, s.control.PutClass(ctx, r.Fabric, r.Tenant, tag, c)
}

func (s *Server) DeleteClass(ctx context.Context, r server.DeleteClassRequestObject) (server.DeleteClassResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return server.DeleteClass204Response{}, s.control.DeleteClass(ctx, r.Fabric, r.Tenant, r.Class, tag)
}

// classIn converts a class; base is its JSON pointer in the body.
func classIn(base, name string, weight float64) (tenants.Class, error) {
	w, err := quantity.WeightFromFloat(weight)
	if err != nil {
		return tenants.Class{}, control.InvalidFrom(base+"/weight", err)
	}
	return tenants.Class{Name: name, Weight: w}, nil
}

func classOut(c tenants.Class) gen.Class { return gen.Class{Name: c.Name, Weight: c.Weight.Float()} }

func attachmentOut(a tenants.Attachment) gen.Attachment {
	out := gen.Attachment{Port: a.Port.String(), FeedOnly: optional(a.FeedOnly), ClaimedBps: optional(int64(a.Claimed))}
	if a.SL != nil {
		out.SL = new(gen.SL(*a.SL))
	}
	return out
}

// attachmentsOfTenant are attachments of one tenant, to be completed.
type attachmentsOfTenant struct {
	tenant string
	list   []gen.Attachment
}

// nameAttachments sets the names of the attachments' ports and, for callers who may know them, of the feeds that claim
// them.
func (s *Server) nameAttachments(ctx context.Context, fabric string, of ...attachmentsOfTenant) error {
	var tenants []string
	for _, x := range of {
		if len(x.list) > 0 {
			tenants = append(tenants, x.tenant)
		}
	}
	if len(tenants) == 0 {
		return nil
	}
	name, err := s.control.PortNames(ctx, fabric)
	if err != nil {
		return err
	}
	feeds, err := s.control.Claimants(ctx, fabric, tenants...)
	if err != nil {
		return err
	}
	for _, x := range of {
		for i := range x.list {
			if id, err := ident.ParsePortID(x.list[i].Port); err == nil {
				x.list[i].Name, x.list[i].Feeds = optional(name(id)), feeds(x.tenant, id)
			}
		}
	}
	return nil
}

// namedAttachment returns an attachment of a tenant with the names of its port and its feeds.
func (s *Server) namedAttachment(ctx context.Context, fabric, tenant string, a tenants.Attachment) (gen.Attachment, error) {
	list := []gen.Attachment{attachmentOut(a)}
	err := s.nameAttachments(ctx, fabric, attachmentsOfTenant{tenant, list})
	return list[0], err
}

func slIn(in *gen.SL) *ident.SL {
	if in == nil {
		return nil
	}
	return new(ident.SL(*in))
}
