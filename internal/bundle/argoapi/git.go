package argoapi

import (
	"errors"
	"path"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"

	"github.com/nvidia/aicr-action/internal/util/texttemplate"
	"github.com/nvidia/aicr-action/internal/util/yamlx"
)

// ErrLeftOut is a generator over a repository that is left out.
var ErrLeftOut = errors.New("its repository is left out")

// repository is the directory of the repository that a generator looks through, and the files in it.
func (s GeneratorSource) repository(git *yamlv3.Node) (dir string, files []string, err error) {
	at := yamlx.Text(git, "repoURL")
	dir, said := s.Elsewhere(at)
	switch {
	case said && dir == "":
		return "", nil, ErrLeftOut
	case !said && !s.Own(at):
		return "", nil, &GeneratorError{git, errors.New(s.NotOwn(at))}
	}
	all, err := s.Files()
	if err != nil || !said {
		return "", all, err
	}
	for _, name := range all {
		if rest, below := strings.CutPrefix(name, dir+"/"); below {
			files = append(files, rest)
		}
	}
	return dir, files, nil
}

// git gives the parameters of directories or files of the repository.
func (s GeneratorSource) git(git *yamlv3.Node) ([]map[string]any, error) {
	in, names, err := s.repository(git)
	if err != nil {
		return nil, err
	}
	directories, files := yamlx.Find(git, "directories"), yamlx.Find(git, "files")
	var sets []map[string]any
	switch {
	case directories != nil && len(directories.Content) > 0:
		wanted := selection(directories, generatorGlob)
		for _, dir := range generatorDirectories(names) {
			if wanted(dir) {
				sets = append(sets, s.at(git, map[string]any{}, dir, ""))
			}
		}
	case files != nil && len(files.Content) > 0:
		wanted := selection(files, pathspec)
		for _, name := range names {
			if !wanted(name) {
				continue
			}
			content, err := s.Read(path.Join(in, name))
			if err != nil {
				return nil, err
			}
			objects, err := objectsOf(content)
			if err != nil {
				return nil, bad(git, "file %s: %w", name, err)
			}
			for _, params := range objects {
				if !s.Goes {
					flat := map[string]any{}
					for key, value := range flattened(params) {
						flat[key] = value
					}
					params = flat
				}
				sets = append(sets, s.at(git, params, path.Dir(name), path.Base(name)))
			}
		}
	default:
		return nil, bad(git, "it has neither directories nor files")
	}
	return sets, s.values(git, sets)
}

// at adds the parameters that a directory, or a file in it, has by its path.
func (s GeneratorSource) at(git *yamlv3.Node, params map[string]any, dir, file string) map[string]any {
	prefix := yamlx.Text(git, "pathParamPrefix")
	all := map[string]any{"basename": path.Base(dir), "basenameNormalized": texttemplate.Normalized(path.Base(dir))}
	if file != "" {
		all["filename"], all["filenameNormalized"] = file, texttemplate.Normalized(file)
	}
	segments := strings.Split(dir, "/")
	if !s.Goes {
		name := strings.TrimPrefix(prefix+".path", ".")
		params[name] = dir
		for key, value := range all {
			params[name+"."+key] = value
		}
		for i, segment := range segments {
			params[name+"["+strconv.Itoa(i)+"]"] = segment
		}
		return params
	}
	var list []any
	for _, segment := range segments {
		list = append(list, segment)
	}
	all["path"], all["segments"] = dir, list
	if prefix != "" {
		params[prefix] = map[string]any{"path": all}
	} else {
		params["path"] = all
	}
	return params
}

// objectsOf reads a file of parameters: one object, or a list of them. An empty file is an object.
func objectsOf(content []byte) ([]map[string]any, error) {
	params := map[string]any{}
	if err := yaml.Unmarshal(content, &params); err == nil {
		if params == nil {
			params = map[string]any{}
		}
		return []map[string]any{params}, nil
	}
	var list []map[string]any
	if err := yaml.Unmarshal(content, &list); err != nil {
		return nil, err
	}
	for i := range list {
		if list[i] == nil {
			list[i] = map[string]any{}
		}
	}
	return list, nil
}
