package api

import (
	"context"
	"net/url"
	"strings"

	"fairlane/api/gen"
	"fairlane/internal/control"
	"fairlane/internal/quantity"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// tagMatch reads the tag that a change of a part was made against; control.AnyTag for whatever there is. What is not
// a tag of ours matches nothing.
func tagMatch(h *gen.IfMatch) (string, error) {
	if h == nil || strings.TrimSpace(*h) == "" {
		_, err := ifMatch(h)
		return "", err
	}
	text := strings.TrimSpace(*h)
	if text == "*" {
		return control.AnyTag, nil
	}
	return strings.Trim(text, `"`), nil
}

func partTag(part any) string { return `"` + control.Tag(part) + `"` }

// location is the path of a part of a tenant.
func location(fabric, tenant, kind, name string) string {
	return "/api/v1/fabrics/" + url.PathEscape(fabric) + "/tenants/" + url.PathEscape(tenant) + "/" + kind + "/" + url.PathEscape(name)
}

// ListAttachments implements the contract.
func (s *Server) ListAttachments(ctx context.Context, r gen.ListAttachmentsRequestObject) (gen.ListAttachmentsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	t, err := s.control.Tenant(ctx, r.Fabric, r.Tenant)
	if err != nil {
		return nil, err
	}
	list, next, err := slicePage(t.Attachments, p)
	if err != nil {
		return nil, err
	}
	return gen.ListAttachments200JSONResponse{Items: mapped(list, attachmentOut), NextCursor: cursor(next)}, nil
}

// AddAttachment implements the contract.
func (s *Server) AddAttachment(ctx context.Context, r gen.AddAttachmentRequestObject) (gen.AddAttachmentResponseObject, error) {
	a, err := s.control.AddAttachment(ctx, r.Fabric, r.Tenant, control.AttachmentInput{Port: r.Body.Port, SL: slIn(r.Body.SL)})
	if err != nil {
		return nil, err
	}
	return gen.AddAttachment201JSONResponse{Body: attachmentOut(a), Headers: gen.AddAttachment201ResponseHeaders{
		ETag: partTag(a), Location: location(r.Fabric, r.Tenant, "attachments", a.Port.String())}}, nil
}

// GetAttachment implements the contract.
func (s *Server) GetAttachment(ctx context.Context, r gen.GetAttachmentRequestObject) (gen.GetAttachmentResponseObject, error) {
	a, err := s.control.Attachment(ctx, r.Fabric, r.Tenant, r.Port)
	if err != nil {
		return nil, err
	}
	return gen.GetAttachment200JSONResponse{Body: attachmentOut(a), Headers: gen.GetAttachment200ResponseHeaders{ETag: partTag(a)}}, nil
}

// PutAttachment implements the contract.
func (s *Server) PutAttachment(ctx context.Context, r gen.PutAttachmentRequestObject) (gen.PutAttachmentResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	a, err := s.control.PutAttachment(ctx, r.Fabric, r.Tenant, r.Port, tag, slIn(r.Body.SL))
	if err != nil {
		return nil, err
	}
	return gen.PutAttachment200JSONResponse{Body: attachmentOut(a), Headers: gen.PutAttachment200ResponseHeaders{ETag: partTag(a)}}, nil
}

// DeleteAttachment implements the contract.
func (s *Server) DeleteAttachment(ctx context.Context, r gen.DeleteAttachmentRequestObject) (gen.DeleteAttachmentResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return gen.DeleteAttachment204Response{}, s.control.DeleteAttachment(ctx, r.Fabric, r.Tenant, r.Port, tag)
}

// ListClasses implements the contract.
func (s *Server) ListClasses(ctx context.Context, r gen.ListClassesRequestObject) (gen.ListClassesResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	t, err := s.control.Tenant(ctx, r.Fabric, r.Tenant)
	if err != nil {
		return nil, err
	}
	list, next, err := slicePage(t.Classes, p)
	if err != nil {
		return nil, err
	}
	return gen.ListClasses200JSONResponse{Items: mapped(list, classOut), NextCursor: cursor(next)}, nil
}

// AddClass implements the contract.
func (s *Server) AddClass(ctx context.Context, r gen.AddClassRequestObject) (gen.AddClassResponseObject, error) {
	c, err := classIn(r.Body.Name, r.Body.Weight)
	if err != nil {
		return nil, err
	}
	if err := s.control.AddClass(ctx, r.Fabric, r.Tenant, c); err != nil {
		return nil, err
	}
	return gen.AddClass201JSONResponse{Body: classOut(c), Headers: gen.AddClass201ResponseHeaders{
		ETag: partTag(c), Location: location(r.Fabric, r.Tenant, "classes", c.Name)}}, nil
}

// GetClass implements the contract.
func (s *Server) GetClass(ctx context.Context, r gen.GetClassRequestObject) (gen.GetClassResponseObject, error) {
	c, err := s.control.Class(ctx, r.Fabric, r.Tenant, r.Class)
	if err != nil {
		return nil, err
	}
	return gen.GetClass200JSONResponse{Body: classOut(c), Headers: gen.GetClass200ResponseHeaders{ETag: partTag(c)}}, nil
}

// PutClass implements the contract.
func (s *Server) PutClass(ctx context.Context, r gen.PutClassRequestObject) (gen.PutClassResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	c, err := classIn(r.Class, r.Body.Weight)
	if err != nil {
		return nil, err
	}
	if err := s.control.PutClass(ctx, r.Fabric, r.Tenant, tag, c); err != nil {
		return nil, err
	}
	return gen.PutClass200JSONResponse{Body: classOut(c), Headers: gen.PutClass200ResponseHeaders{ETag: partTag(c)}}, nil
}

// DeleteClass implements the contract.
func (s *Server) DeleteClass(ctx context.Context, r gen.DeleteClassRequestObject) (gen.DeleteClassResponseObject, error) {
	tag, err := tagMatch(r.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	return gen.DeleteClass204Response{}, s.control.DeleteClass(ctx, r.Fabric, r.Tenant, r.Class, tag)
}

func classIn(name string, weight float64) (tenants.Class, error) {
	w, err := quantity.WeightFromFloat(weight)
	if err != nil {
		return tenants.Class{}, control.Invalid("/weight", "%v", err)
	}
	return tenants.Class{Name: name, Weight: w}, nil
}

func classOut(c tenants.Class) gen.Class { return gen.Class{Name: c.Name, Weight: c.Weight.Float()} }

func attachmentOut(a tenants.Attachment) gen.Attachment {
	out := gen.Attachment{Port: a.Port.String()}
	if a.SL != nil {
		sl := gen.SL(*a.SL)
		out.SL = &sl
	}
	return out
}

func slIn(in *gen.SL) *ident.SL {
	if in == nil {
		return nil
	}
	sl := ident.SL(*in)
	return &sl
}
