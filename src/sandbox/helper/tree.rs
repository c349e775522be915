//! The tree that commands see, built beside the real one: the whole system read-only, the
//! workspace under an overlay at its own path, what is secret or somebody else's covered.
//!
//! The helper itself stays in the real tree; commands are sent into this one for good. So
//! a mount point is never made in a directory that is real: where one is missing, it is
//! made in a tree of our own, or there is nothing to cover.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2, symlinkat};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount,
    fsopen, mount_change, move_mount, open_tree, unmount,
};

use super::super::wire::{Refusal, Setup, Stage};
use super::stand_in;
use super::system::{Reach, make_read_only};

/// Directories that start empty, where anybody may write.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// The devices that are there.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Links in `/dev`, and where they lead.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// The tree, and what it is made of.
pub(super) struct Tree {
    root: OwnedFd,
    /// What lies below all layers: the workspace, or an overlay of nothing else.
    base: OwnedFd,
    layers: OwnedFd,
    setup: Setup,
    sockets: Vec<PathBuf>,
    is_shown: bool,
}

impl Tree {
    /// Builds the tree. The workspace is what it is in the real one until layers are shown.
    pub(super) fn build(setup: &Setup, sockets: Vec<PathBuf>) -> Result<Self, Refusal> {
        let root = clone_of_everything(setup)?;
        let open = |path: &OsStr, stage| {
            let opened = openat(
                CWD,
                path,
                OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            );
            opened.map_err(|error| Refusal::new(stage, error).at(path))
        };
        let workspace = open(&setup.workspace, Stage::Overlay)?;
        let layers = open(&setup.layers, Stage::Overlay)?;
        let is_nested = Path::new(&setup.layers).starts_with(&setup.workspace);
        let base = if is_nested {
            let base = base_apart(&workspace, &layers);
            base.map_err(|error| Refusal::new(Stage::Overlay, error).at(&setup.workspace))?
        } else {
            workspace
        };
        let mut tree = Self {
            base,
            layers,
            root,
            setup: setup.clone(),
            sockets,
            is_shown: false,
        };
        tree.mount_proc()
            .map_err(|error| Refusal::new(Stage::Proc, error))?;
        tree.mount_devices()
            .map_err(|error| Refusal::new(Stage::Dev, error))?;
        for path in TEMPORARY {
            tree.mount_temporary(Path::new(path), "1777")?;
        }
        tree.mount_temporary(Path::new("/run"), "0755")?;
        if let Some(home) = &tree.setup.home {
            tree.mount_home(home)?;
        }
        let seen = PathBuf::from(&setup.seen);
        let made = tree.make_room(&seen);
        made.map_err(|error| Refusal::new(Stage::Overlay, error).at(&setup.seen))?;
        tree.hide(None)?;
        Ok(tree)
    }

    /// Shows the workspace as these layers make it, the last one for writing. Nobody may be
    /// in the tree.
    pub(super) fn show(&mut self, layers: &[u32]) -> Result<(), Refusal> {
        let refuse = |error: io::Error| Refusal::new(Stage::Overlay, error).at(&self.setup.seen);
        let overlay = self.overlay_of(layers).map_err(refuse)?;
        let path = Path::new(&self.setup.seen);
        if self.is_shown {
            self.unmount_workspace(path).map_err(refuse)?;
        }
        self.attach(&overlay, path).map_err(refuse)?;
        self.is_shown = true;
        self.hide(Some(path))
    }

    /// The tree's own root, to be entered.
    pub(super) fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Where commands may write, besides devices.
    pub(super) fn writable(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = TEMPORARY.map(PathBuf::from).into();
        paths.extend(["/run", "/dev", "/proc"].map(PathBuf::from));
        paths.extend(self.setup.home.iter().map(PathBuf::from));
        paths.push(PathBuf::from(&self.setup.seen));
        paths
    }

    fn overlay_of(&self, layers: &[u32]) -> io::Result<OwnedFd> {
        let (top, lower) = layers.split_last().ok_or(Errno::INVAL)?;
        let upper = |number: &u32| self.layer(&format!("{number}/upper"));
        let mut lowers = Vec::new();
        for number in lower.iter().rev() {
            lowers.push(upper(number)?);
        }
        let lowers: Vec<BorrowedFd<'_>> = lowers
            .iter()
            .map(AsFd::as_fd)
            .chain([self.base.as_fd()])
            .collect();
        overlay(
            &lowers,
            upper(top)?.as_fd(),
            self.layer(&format!("{top}/work"))?.as_fd(),
        )
    }

    fn layer(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.layers, name, flags, Mode::empty())?)
    }

    fn unmount_workspace(&self, path: &Path) -> io::Result<()> {
        rustix::process::fchdir(&self.root)?;
        let relative = below_root(path);
        let done = unmount(relative, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
        rustix::process::chdir("/")?;
        Ok(done?)
    }

    fn mount_home(&self, home: &OsStr) -> Result<(), Refusal> {
        let mount = || {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let lower = openat(CWD, home, flags, Mode::empty())?;
            let overlay = overlay(
                &[lower.as_fd()],
                self.layer("home/upper")?.as_fd(),
                self.layer("home/work")?.as_fd(),
            )?;
            self.attach(&overlay, Path::new(home))
        };
        mount().map_err(|error| Refusal::new(Stage::Home, error).at(home))
    }

    fn mount_temporary(&self, path: &Path, mode: &str) -> Result<(), Refusal> {
        let mount = || {
            let bytes = self.setup.limits.temporary_bytes.to_string();
            let new = file_system("tmpfs", &[("mode", mode), ("size", &bytes)])?;
            match self.find(path) {
                Ok(target) => attach_at(&new, &target),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            }
        };
        mount().map_err(|error| Refusal::new(Stage::Temporary, error).at(path))
    }

    fn mount_proc(&self) -> io::Result<()> {
        let new = file_system("proc", &[])?;
        make_read_only(&new, Reach::This)?;
        self.attach(&new, Path::new("/proc"))
    }

    /// A `/dev` that holds no disk.
    fn mount_devices(&self) -> io::Result<()> {
        let dev = file_system("tmpfs", &[("mode", "0755"), ("size", "64k")])?;
        self.attach(&dev, Path::new("/dev"))?;
        let dev = self.find(Path::new("/dev"))?;
        for name in DEVICES {
            let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
            let device = open_tree(CWD, Path::new("/dev").join(name), clone)?;
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            let place = openat(&dev, name, flags, Mode::from_raw_mode(0o644))?;
            drop(place);
            let place = openat(&dev, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            attach_at(&device, &place)?;
        }
        for (name, target) in DEVICE_LINKS {
            symlinkat(target, &dev, name)?;
        }
        for name in ["pts", "shm"] {
            mkdirat(&dev, name, Mode::from_raw_mode(0o755))?;
        }
        let terminals = file_system(
            "devpts",
            &[("newinstance", ""), ("ptmxmode", "0666"), ("mode", "0620")],
        )?;
        self.attach(&terminals, Path::new("/dev/pts"))?;
        make_read_only(&dev, Reach::This)
    }

    /// Covers what is hidden and is there: all of it, or what lies below a path.
    fn hide(&self, below: Option<&Path>) -> Result<(), Refusal> {
        let workspace = Path::new(&self.setup.seen);
        let is_meant = |path: &Path| match below {
            Some(below) => path.starts_with(below) && path != below,
            None => !path.starts_with(workspace) || path == workspace,
        };
        for path in self.setup.hidden.iter().map(Path::new) {
            if is_meant(path) {
                self.cover(path)
                    .map_err(|error| Refusal::new(Stage::Hide, error).at(path))?;
            }
        }
        if below.is_none() {
            for path in &self.sockets {
                self.cover_socket(path)
                    .map_err(|error| Refusal::new(Stage::Hide, error).at(path))?;
            }
        }
        Ok(())
    }

    fn cover(&self, path: &Path) -> io::Result<()> {
        let target = match self.find(path) {
            Err(error) if is_nothing(&error) => return Ok(()),
            target => target?,
        };
        match kind_of(&target)? {
            FileType::Directory => {
                let empty = file_system("tmpfs", &[("mode", "0555"), ("size", "4k")])?;
                // A workspace in it still needs its place.
                if !Path::new(&self.setup.seen).starts_with(path) {
                    make_read_only(&empty, Reach::This)?;
                }
                attach_at(&empty, &target)
            }
            _ => self.cover_by_nothing(&target),
        }
    }

    fn cover_socket(&self, path: &Path) -> io::Result<()> {
        match self.find(path) {
            Err(error) if is_nothing(&error) => Ok(()),
            Ok(target) if kind_of(&target)? == FileType::Socket => self.cover_by_nothing(&target),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn cover_by_nothing(&self, target: &OwnedFd) -> io::Result<()> {
        let clone = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        let nothing = open_tree(&self.layers, "nothing", clone)?;
        make_read_only(&nothing, Reach::This)?;
        attach_at(&nothing, target)
    }

    /// Puts a mount at a path of the tree; the path is made, where the tree is our own.
    fn attach(&self, mount: &OwnedFd, path: &Path) -> io::Result<()> {
        let target = match self.find(path) {
            Err(error) if is_nothing(&error) => {
                self.make_directories(path)?;
                self.find(path)
            }
            target => target,
        }?;
        attach_at(mount, &target)
    }

    /// Sees to it that there is a directory at a path. Where that would have to be made in a
    /// real one, that one gives way to a stand-in.
    fn make_room(&mut self, path: &Path) -> io::Result<()> {
        match self.find(path) {
            Err(error) if is_nothing(&error) => {}
            found => return found.map(|_| ()),
        }
        match self.make_directories(path) {
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {}
            made => return made,
        }
        let mut above = path.ancestors().skip(1);
        let (real, directory) = above
            .find_map(|above| Some((self.find(above).ok()?, above)))
            .ok_or(Errno::NOENT)?;
        let stand_in = stand_in::attach(&real)?;
        if directory.parent().is_none() {
            // Whoever holds the root still holds what lies below the stand-in.
            let place = Path::new(&self.setup.layers).join("root");
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            self.root = openat(CWD, &place, flags, Mode::empty())?;
        }
        self.make_directories(path)?;
        make_read_only(&stand_in, Reach::This)
    }

    fn make_directories(&self, path: &Path) -> io::Result<()> {
        let mut made = PathBuf::from("/");
        for component in below_root(path).components() {
            made.push(component);
            match mkdirat(&self.root, below_root(&made), Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// What a path leads to in the tree, links followed.
    fn find(&self, path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let found = openat2(
            &self.root,
            below_root(path),
            flags,
            Mode::empty(),
            ResolveFlags::IN_ROOT,
        );
        Ok(found?)
    }
}

/// All that is mounted, once more and read-only, where only the helper sees it.
fn clone_of_everything(setup: &Setup) -> Result<OwnedFd, Refusal> {
    let all_below = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", all_below).map_err(|error| Refusal::new(Stage::Root, error))?;
    let clone = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    let root = open_tree(CWD, "/", clone).map_err(|error| Refusal::new(Stage::Root, error))?;
    make_read_only(&root, Reach::AllBelow).map_err(|error| Refusal::new(Stage::ReadOnly, error))?;
    let place = Path::new(&setup.layers).join("root");
    let empty_path = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&root, "", CWD, &place, empty_path)
        .map_err(|error| Refusal::new(Stage::Root, error).at(place.into_os_string()))?;
    Ok(root)
}

/// The workspace as an overlay that adds nothing to it.
///
/// The kernel lets no layer lie in another one. Layers in the workspace can lie on this,
/// which is no directory that holds them.
fn base_apart(workspace: &OwnedFd, layers: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |directory: &OwnedFd, name: &str| openat(directory, name, flags, Mode::empty());
    attach_at(
        &file_system("tmpfs", &[("size", "4k")])?,
        &open(layers, "base")?,
    )?;
    let place = open(layers, "base")?;
    for name in ["nothing", "base"] {
        mkdirat(&place, name, Mode::from_raw_mode(0o700))?;
    }
    // One layer alone is refused, so there are two.
    let new = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&new, "source", "jukebox")?;
    for lower in [workspace.as_fd(), open(&place, "nothing")?.as_fd()] {
        fsconfig_set_string(&new, "lowerdir+", path_of(lower))?;
    }
    fsconfig_set_flag(&new, "userxattr")?;
    attach_at(&mounted(&new)?, &open(&place, "base")?)?;
    Ok(open(&place, "base")?)
}

/// An overlay, mounted nowhere yet; the first of `lowers` lies on top of the others.
///
/// Paths go in as descriptors: no comma, colon or length of a path means anything to the
/// parser of options then.
fn overlay(
    lowers: &[BorrowedFd<'_>],
    upper: BorrowedFd<'_>,
    work: BorrowedFd<'_>,
) -> io::Result<OwnedFd> {
    let new = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&new, "source", "jukebox")?;
    for lower in lowers {
        fsconfig_set_string(&new, "lowerdir+", path_of(*lower))?;
    }
    fsconfig_set_string(&new, "upperdir", path_of(upper))?;
    fsconfig_set_string(&new, "workdir", path_of(work))?;
    fsconfig_set_flag(&new, "userxattr")?;
    fsconfig_set_flag(&new, "volatile")?;
    mounted(&new)
}

fn path_of(directory: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", directory.as_raw_fd())
}

/// A file system of the kernel's own, mounted nowhere yet.
pub(super) fn file_system(kind: &str, options: &[(&str, &str)]) -> io::Result<OwnedFd> {
    let new = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        if value.is_empty() {
            fsconfig_set_flag(&new, *key)?;
        } else {
            fsconfig_set_string(&new, *key, *value)?;
        }
    }
    mounted(&new)
}

fn mounted(new: &OwnedFd) -> io::Result<OwnedFd> {
    fsconfig_create(new)?;
    Ok(fsmount(
        new,
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID,
    )?)
}

pub(super) fn attach_at(mount: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(mount, "", target, "", flags)?)
}

fn kind_of(target: &OwnedFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(target)?.st_mode))
}

/// Whether a path leads nowhere, or to where nobody inside gets either.
fn is_nothing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// A path as seen from the tree's root.
fn below_root(path: &Path) -> &Path {
    let below = path.strip_prefix("/").unwrap_or(path);
    if below.as_os_str().is_empty() {
        Path::new(".")
    } else {
        below
    }
}
