/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads ELF files by libelf. The dynamic section is found by the program headers, as the loader does; symbols and version
 * definitions by the section headers. A file without these has none.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/binary.h"

int binary_open_file(const char *path)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	/* Another file may have this name now. */
	if (!fstat(fd, &st) && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

#ifdef RUSE_LIBDW
#include <gelf.h>

#define BINARY_PHDRS 256
#define BINARY_SECTIONS 4096
#define BINARY_SYMBOLS (32 << 20) /* bytes */
#define BINARY_VERSIONS (1 << 20) /* bytes */
#define BINARY_DYNAMIC (1 << 16) /* bytes */
#define BINARY_STRTAB (64 << 20)
#define BINARY_NOTES (1 << 16)
#define BINARY_CONST (64 << 20)
#define BINARY_STRING 4096

static const char *const binary_vendors[] = { "mlx5dv_", "mlx4dv_", "efadv_",
					      "hnsdv_",	 "manadv_", "bnxt_re_dv_" };

struct binary_file {
	int fd;
	Elf *elf;
	size_t phdrs;
};

static void binary_close(struct binary_file *f)
{
	if (f->elf)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
}

/* 0 or -errno. */
static int binary_open(struct binary_file *f, const char *path)
{
	*f = (struct binary_file){ .fd = binary_open_file(path) };
	if (f->fd < 0)
		return f->fd;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF)
		return -ENOEXEC;
	if (elf_getphdrnum(f->elf, &f->phdrs))
		return -EBADMSG;
	if (f->phdrs > BINARY_PHDRS)
		f->phdrs = BINARY_PHDRS;
	return 0;
}

/* size bytes of the file; NULL: it has not that many. libelf frees them. */
static Elf_Data *binary_chunk(struct binary_file *f, uint64_t off, uint64_t size, uint64_t most,
			      Elf_Type type)
{
	if (!size || size > most || off > INT64_MAX)
		return NULL;
	return elf_getdata_rawchunk(f->elf, (int64_t)off, size, type);
}

/* The offset in the file of an address of the program, UINT64_MAX if there is none. */
static uint64_t binary_offset(struct binary_file *f, uint64_t addr)
{
	GElf_Phdr ph;

	for (size_t i = 0; i < f->phdrs; i++)
		if (gelf_getphdr(f->elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    addr >= ph.p_vaddr && addr - ph.p_vaddr < ph.p_filesz)
			return ph.p_offset + (addr - ph.p_vaddr);
	return UINT64_MAX;
}

/* The string at off, NULL: it does not end within the data, or is empty or longer than a path. */
static const char *binary_string(const Elf_Data *d, uint64_t off)
{
	const char *s = d && d->d_buf && off < d->d_size ? (const char *)d->d_buf + off : NULL;
	size_t most = s ? d->d_size - off : 0, len = s ? strnlen(s, most) : 0;

	return len && len < most && len < BINARY_STRING ? s : NULL;
}

static char *binary_text(const Elf_Data *d, uint64_t off)
{
	const char *s = binary_string(d, off);

	return s ? strdup(s) : NULL;
}

/* A section, as binary_chunk(); elf_getdata() has no limit, and elf_strptr() none for what it decompresses. */
static Elf_Data *binary_section(struct binary_file *f, const GElf_Shdr *sh, uint64_t most,
				Elf_Type type)
{
	if (sh->sh_type == SHT_NOBITS || sh->sh_flags & SHF_COMPRESSED)
		return NULL;
	return binary_chunk(f, sh->sh_offset, sh->sh_size, most, type);
}

/* The strings of a section. */
static Elf_Data *binary_linked(struct binary_file *f, const GElf_Shdr *sh)
{
	GElf_Shdr str;

	if (!gelf_getshdr(elf_getscn(f->elf, sh->sh_link), &str) || str.sh_type != SHT_STRTAB)
		return NULL;
	return binary_section(f, &str, BINARY_STRTAB, ELF_T_BYTE);
}

/* The first section of a type: a hostile file may have thousands. */
static bool binary_first(struct binary_file *f, uint32_t type, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;

	for (int i = 0; i < BINARY_SECTIONS && (scn = elf_nextscn(f->elf, scn)); i++)
		if (gelf_getshdr(scn, sh) && sh->sh_type == type)
			return true;
	return false;
}

static uint64_t binary_tag(Elf_Data *dyn, int64_t tag)
{
	GElf_Dyn d;

	for (int i = 0; gelf_getdyn(dyn, i, &d) && d.d_tag != DT_NULL; i++)
		if (d.d_tag == tag)
			return d.d_un.d_val;
	return 0;
}

static void binary_dynamic(struct binary_file *f, const GElf_Phdr *ph, struct binary *b)
{
	Elf_Data *dyn = binary_chunk(f, ph->p_offset, ph->p_filesz, BINARY_DYNAMIC, ELF_T_DYN),
		 *str;
	uint64_t flags;
	GElf_Dyn d;
	char *text;

	if (!dyn)
		return;
	flags = binary_tag(dyn, DT_FLAGS_1);
	b->executable |= !!(flags & DF_1_PIE);
	b->no_default = flags & DF_1_NODEFLIB;
	str = binary_chunk(f, binary_offset(f, binary_tag(dyn, DT_STRTAB)),
			   binary_tag(dyn, DT_STRSZ), BINARY_STRTAB, ELF_T_BYTE);
	for (int i = 0; str && gelf_getdyn(dyn, i, &d) && d.d_tag != DT_NULL; i++) {
		char **at = d.d_tag == DT_SONAME  ? &b->soname :
			    d.d_tag == DT_RPATH	  ? &b->rpath :
			    d.d_tag == DT_RUNPATH ? &b->runpath :
			    d.d_tag == DT_NEEDED && b->needed_n < BINARY_NEEDED_MAX ?
						    &b->needed[b->needed_n] :
						    NULL;

		text = at ? binary_text(str, d.d_un.d_val) : NULL;
		if (!text)
			continue;
		b->needed_n += d.d_tag == DT_NEEDED;
		free(*at);
		*at = text;
	}
	if (b->runpath) {
		free(b->rpath);
		b->rpath = NULL;
	}
}

/* Go writes its build ID in a note of the owner "Go". */
static void binary_notes(struct binary_file *f, const GElf_Phdr *ph, struct binary *b)
{
	Elf_Data *d = binary_chunk(f, ph->p_offset, ph->p_filesz, BINARY_NOTES,
				   ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
	size_t off = 0, next, name, desc;
	GElf_Nhdr n;

	while (d && (next = gelf_getnote(d, off, &n, &name, &desc)) > off) {
		if (n.n_namesz >= 3 && name + 3 <= d->d_size &&
		    !memcmp((const char *)d->d_buf + name, "Go", 3))
			b->go = true;
		off = next;
	}
}

static void binary_versions(struct binary_file *f, struct binary *b)
{
	Elf_Data *d, *str;
	const char *name;
	GElf_Verdef def;
	GElf_Verdaux aux;
	GElf_Shdr sh;
	uint64_t at = 0;

	if (!binary_first(f, SHT_GNU_verdef, &sh))
		return;
	str = binary_linked(f, &sh);
	d = str ? binary_section(f, &sh, BINARY_VERSIONS, ELF_T_VDEF) : NULL;
	for (int i = 0; d && i < 1000 && at < d->d_size && gelf_getverdef(d, (int)at, &def); i++) {
		if (at + def.vd_aux < d->d_size &&
		    gelf_getverdaux(d, (int)(at + def.vd_aux), &aux)) {
			name = binary_string(str, aux.vda_name);
			if (name)
				sscanf(name, "IBVERBS_PRIVATE_%3d", &b->private_abi);
		}
		if (!def.vd_next)
			break;
		at += def.vd_next;
	}
}

char *binary_vendor(const char *path)
{
	Elf_Data *d = NULL, *str = NULL;
	struct binary_file f;
	const char *name;
	char *found = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!binary_open(&f, path) && binary_first(&f, SHT_DYNSYM, &sh)) {
		str = binary_linked(&f, &sh);
		d = str ? binary_section(&f, &sh, BINARY_SYMBOLS, ELF_T_SYM) : NULL;
	}
	for (int i = 0; d && !found && gelf_getsym(d, i, &sym); i++) {
		name = sym.st_shndx == SHN_UNDEF ? binary_string(str, sym.st_name) : NULL;
		for (size_t v = 0; name && !found && v < ARRAY_SIZE(binary_vendors); v++)
			if (!strncmp(name, binary_vendors[v], strlen(binary_vendors[v])))
				found = strdup(name);
	}
	binary_close(&f);
	return found;
}

int binary_read(const char *path, struct binary *b)
{
	struct binary_file f;
	GElf_Ehdr eh;
	GElf_Phdr ph;
	bool dynamic = false;
	int rc = binary_open(&f, path);

	*b = (struct binary){ 0 };
	if (!rc && (!gelf_getehdr(f.elf, &eh) || (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)))
		rc = -EBADMSG;
	if (rc) {
		binary_close(&f);
		return rc;
	}
	b->bits = eh.e_ident[EI_CLASS];
	b->data = eh.e_ident[EI_DATA];
	b->machine = eh.e_machine;
	b->executable = eh.e_type == ET_EXEC;
	for (size_t i = 0; i < f.phdrs; i++) {
		if (!gelf_getphdr(f.elf, (int)i, &ph))
			continue;
		if (ph.p_type == PT_INTERP && !b->interp)
			b->interp = binary_text(binary_chunk(&f, ph.p_offset, ph.p_filesz, PATH_MAX,
							     ELF_T_BYTE),
						0);
		else if (ph.p_type == PT_DYNAMIC && !dynamic) {
			dynamic = true; /* one is enough: a hostile file may have hundreds */
			binary_dynamic(&f, &ph, b);
		} else if (ph.p_type == PT_NOTE)
			binary_notes(&f, &ph, b);
	}
	binary_versions(&f, b);
	binary_close(&f);
	return 0;
}

/* The strings of one segment that contain part. */
static bool binary_scan(const char *p, size_t size, const char *part,
			bool (*fn)(const char *string, void *arg), void *arg)
{
	const char *end = p + size, *hit = p, *from, *to;
	char text[BINARY_STRING];

	while ((hit = memmem(hit, (size_t)(end - hit), part, strlen(part)))) {
		for (from = hit; from > p && from[-1]; from--)
			;
		to = memchr(hit, 0, (size_t)(end - hit));
		if (!to)
			return false;
		if (to - from < BINARY_STRING) {
			memcpy(text, from, (size_t)(to - from) + 1);
			if (fn(text, arg))
				return true;
		}
		hit = to;
	}
	return false;
}

bool binary_strings(const char *path, const char *part, bool (*fn)(const char *string, void *arg),
		    void *arg)
{
	struct binary_file f;
	uint64_t left = BINARY_CONST;
	bool done = false;
	Elf_Data *d;
	GElf_Phdr ph;

	if (!binary_open(&f, path))
		for (size_t i = 0; !done && i < f.phdrs; i++) {
			if (!gelf_getphdr(f.elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
			    ph.p_flags & PF_W)
				continue;
			d = binary_chunk(&f, ph.p_offset, ph.p_filesz, left, ELF_T_BYTE);
			if (!d)
				continue;
			left -= d->d_size;
			done = binary_scan(d->d_buf, d->d_size, part, fn, arg);
		}
	binary_close(&f);
	return done;
}
#else
int binary_read(const char *path, struct binary *b)
{
	(void)path;
	*b = (struct binary){ 0 };
	return -ENOSYS;
}

char *binary_vendor(const char *path)
{
	(void)path;
	return NULL;
}

bool binary_strings(const char *path, const char *part, bool (*fn)(const char *string, void *arg),
		    void *arg)
{
	(void)path;
	(void)part;
	(void)fn;
	(void)arg;
	return false;
}
#endif

void binary_free(struct binary *b)
{
	free(b->interp);
	free(b->soname);
	free(b->rpath);
	free(b->runpath);
	for (size_t i = 0; i < b->needed_n; i++)
		free(b->needed[i]);
	*b = (struct binary){ 0 };
}

bool binary_same_machine(const struct binary *a, const struct binary *b)
{
	return a->bits == b->bits && a->data == b->data && a->machine == b->machine;
}

const char *binary_machine(const struct binary *b)
{
	static const struct {
		uint16_t machine;
		uint8_t bits;
		const char *name;
	} names[] = {
		{ EM_X86_64, ELFCLASS64, "x86-64" },
		{ EM_X86_64, ELFCLASS32, "x32" },
		{ EM_386, ELFCLASS32, "i386" },
		{ EM_AARCH64, ELFCLASS64, "arm64" },
		{ EM_ARM, ELFCLASS32, "arm" },
		{ EM_RISCV, ELFCLASS64, "riscv64" },
		{ EM_PPC64, ELFCLASS64, "ppc64" },
		{ EM_S390, ELFCLASS64, "s390x" },
		{ EM_LOONGARCH, ELFCLASS64, "loongarch64" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].machine == b->machine && names[i].bits == b->bits)
			return names[i].name;
	return "another machine";
}
